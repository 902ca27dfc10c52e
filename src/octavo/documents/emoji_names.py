"""The short names of emoji that are not their Unicode names, as writers know them from other services."""

from __future__ import annotations

from functools import cache

_NAMES = """
+1 👍 -1 👎 100 💯 1234 🔢 8ball 🎱 a 🅰️ a_button_blood_type 🅰️ ab 🆎 ab_button_blood_type 🆎 abc 🔤 abcd 🔡
accept 🉑 afghanistan 🇦🇫 aland_islands 🇦🇽 albania 🇦🇱 alert 🚨 algeria 🇩🇿 american_samoa 🇦🇸 andorra 🇦🇩 angel 👼
anger 💢 angola 🇦🇴 angry 😠 anguilla 🇦🇮 anguished 😧 antarctica 🇦🇶 antigua_barbuda 🇦🇬 apple 🍎 argentina 🇦🇷
armenia 🇦🇲 arrow_backward ◀️ arrow_double_down ⏬ arrow_double_up ⏫ arrow_down ⬇️ arrow_down_small 🔽
arrow_forward ▶️ arrow_heading_down ⤵️ arrow_heading_up ⤴️ arrow_left ⬅️ arrow_lower_left ↙️
arrow_lower_right ↘️ arrow_right ➡️ arrow_right_hook ↪️ arrow_up ⬆️ arrow_up_down ↕️ arrow_up_small 🔼
arrow_upper_left ↖️ arrow_upper_right ↗️ arrows_clockwise 🔃 arrows_counterclockwise 🔄 art 🎨
artificial_satellite 🛰️ aruba 🇦🇼 ascension_island 🇦🇨 asterisk *️⃣ astonished 😲 atm 🏧 atm_sign 🏧 australia 🇦🇺
austria 🇦🇹 azerbaijan 🇦🇿 b 🅱️ b_button_blood_type 🅱️ back 🔙 back_arrow 🔙 bahamas 🇧🇸 bahrain 🇧🇭 bald_man 👨‍🦲
bald_woman 👩‍🦲 bamboo 🎍 bangbang ‼️ bangladesh 🇧🇩 barbados 🇧🇧 barber 💈 basketball_man ⛹️‍♂️
basketball_woman ⛹️‍♀️ beach_umbrella 🏖️ bee 🐝 beer 🍺 beers 🍻 beginner 🔰 belarus 🇧🇾 belgium 🇧🇪 belize 🇧🇿
benin 🇧🇯 bento 🍱 bermuda 🇧🇲 bhutan 🇧🇹 bike 🚲 biking_man 🚴‍♂️ biking_woman 🚴‍♀️ birthday 🎂 black_joker 🃏
blond_haired_man 👱‍♂️ blond_haired_person 👱 blond_haired_woman 👱‍♀️ blonde_woman 👱‍♀️ blue_car 🚙 blush 😊
boat ⛵ bolivia 🇧🇴 book 📖 boom 💥 boot 👢 bosnia_herzegovina 🇧🇦 botswana 🇧🇼 bouncing_ball_man ⛹️‍♂️
bouncing_ball_person ⛹️ bouncing_ball_woman ⛹️‍♀️ bouvet_island 🇧🇻 bow 🙇 bowing_man 🙇‍♂️ bowing_woman 🙇‍♀️
brazil 🇧🇷 breast_feeding 🤱 bricks 🧱 british_indian_ocean_territory 🇮🇴 british_virgin_islands 🇻🇬 brunei 🇧🇳
bulb 💡 bulgaria 🇧🇬 bullettrain_front 🚅 bullettrain_side 🚄 burkina_faso 🇧🇫 burundi 🇧🇮
business_suit_levitating 🕴️ busstop 🚏 cake 🍰 calling 📲 cambodia 🇰🇭 camel 🐪 camera_flash 📸 cameroon 🇨🇲
canada 🇨🇦 canary_islands 🇮🇨 cape_verde 🇨🇻 capital_abcd 🔠 car 🚗 card_box 🗃️ caribbean_netherlands 🇧🇶
cartwheeling 🤸 cat2 🐈 cayman_islands 🇰🇾 cd 💿 central_african_republic 🇨🇫 ceuta_melilla 🇪🇦 chad 🇹🇩
champagne 🍾 chart 💹 check ✔️ checkered_flag 🏁 cheese 🧀 chile 🇨🇱 christmas_island 🇨🇽 circled_m Ⓜ️
city_sunrise 🌇 city_sunset 🌆 cl 🆑 cl_button 🆑 clap 👏 clapper 🎬 climbing 🧗 climbing_man 🧗‍♂️
climbing_woman 🧗‍♀️ clipperton_island 🇨🇵 clock1 🕐 clock10 🕙 clock1030 🕥 clock11 🕚 clock1130 🕦 clock12 🕛
clock1230 🕧 clock130 🕜 clock2 🕑 clock230 🕝 clock3 🕒 clock330 🕞 clock4 🕓 clock430 🕟 clock5 🕔
clock530 🕠 clock6 🕕 clock630 🕡 clock7 🕖 clock730 🕢 clock8 🕗 clock830 🕣 clock9 🕘 clock930 🕤 cloud ☁️
clubs ♣️ cn 🇨🇳 cocktail 🍸 cocos_islands 🇨🇨 coffee ☕ cold_sweat 😰 colombia 🇨🇴 comoros 🇰🇲 computer 💻
confounded 😖 confused 😕 congo_brazzaville 🇨🇬 congo_kinshasa 🇨🇩 congratulations ㊗️ construction 🚧
construction_worker_man 👷‍♂️ construction_worker_woman 👷‍♀️ cook_islands 🇨🇰 cool 🆒 cool_button 🆒 cop 👮
corn 🌽 costa_rica 🇨🇷 cote_divoire 🇨🇮 couple 👫 couplekiss 💏 couplekiss_man_man 👨‍❤️‍💋‍👨
couplekiss_man_woman 👩‍❤️‍💋‍👨 couplekiss_woman_woman 👩‍❤️‍💋‍👩 cow2 🐄 croatia 🇭🇷 crow 🐦‍⬛ cry 😢
cuba 🇨🇺 cupid 💘 curacao 🇨🇼 curly_haired_man 👨‍🦱 curly_haired_woman 👩‍🦱 curry 🍛 cursing_face 🤬 cyprus 🇨🇾
czech_republic 🇨🇿 dancers 👯 dancing_men 👯‍♂️ dancing_women 👯‍♀️ dart 🎯 dash 💨 date 📅 de 🇩🇪 denmark 🇩🇰
desktop 🖥️ diamonds ♦️ diego_garcia 🇩🇬 disappointed 😞 disappointed_relieved 😥 djibouti 🇩🇯 do_not_litter 🚯
dog2 🐕 dollar 💵 dolls 🎎 dominica 🇩🇲 dominican_republic 🇩🇴 dotted_six_pointed_star 🔯 down_left_arrow ↙️
down_right_arrow ↘️ e_mail 📧 earth_africa 🌍 earth_americas 🌎 earth_asia 🌏 ecuador 🇪🇨 egg2 🥚 egypt 🇪🇬
eight 8️⃣ eight_oclock 🕗 eight_pointed_star ✴️ eight_thirty 🕣 el_salvador 🇸🇻 eleven_oclock 🕚
eleven_thirty 🕦 elf_man 🧝‍♂️ elf_woman 🧝‍♀️ email 📧 emoji_modifier_fitzpatrick_type_1_2 🏻
emoji_modifier_fitzpatrick_type_3 🏼 emoji_modifier_fitzpatrick_type_4 🏽 emoji_modifier_fitzpatrick_type_5 🏾
emoji_modifier_fitzpatrick_type_6 🏿 end 🔚 end_arrow 🔚 england 🏴󠁧󠁢󠁥󠁮󠁧󠁿 equatorial_guinea 🇬🇶 eritrea 🇪🇷 es 🇪🇸
estonia 🇪🇪 ethiopia 🇪🇹 eu 🇪🇺 euro 💶 european_union 🇪🇺 exclamation ❗ expressionless 😑 eye_speech_bubble 👁️‍🗨️
face_with_crossed_out_eyes 😵 face_with_head_bandage 🤕 facepalm 🤦 facepunch 👊 fairy_man 🧚‍♂️
fairy_woman 🧚‍♀️ falkland_islands 🇫🇰 faroe_islands 🇫🇴 fast_forward ⏩ fast_forward_button ⏩ fax 📠 fearful 😨
feet 🐾 female_detective 🕵️‍♀️ fiji 🇫🇯 film_strip 🎞️ finland 🇫🇮 fish_cake 🍥 fist ✊ fist_left 🤛
fist_oncoming 👊 fist_raised ✊ fist_right 🤜 five 5️⃣ five_oclock 🕔 five_thirty 🕠 flags 🎏 fleur_de_lis ⚜️
flight_arrival 🛬 flight_departure 🛫 flipper 🐬 flushed 😳 football 🏈 four 4️⃣ four_oclock 🕓 four_thirty 🕟
fr 🇫🇷 free 🆓 free_button 🆓 french_guiana 🇬🇫 french_polynesia 🇵🇫 french_southern_territories 🇹🇫 fried_egg 🍳
fries 🍟 front_facing_baby_chick 🐥 frowning 😦 frowning_man 🙍‍♂️ frowning_person 🙍 frowning_woman 🙍‍♀️
fu 🖕 fuelpump ⛽ gabon 🇬🇦 gambia 🇬🇲 gb 🇬🇧 gear ⚙️ gem 💎 genie_man 🧞‍♂️ genie_woman 🧞‍♀️ georgia 🇬🇪 ghana 🇬🇭
gibraltar 🇬🇮 gift 🎁 gift_heart 💝 globe_showing_americas 🌎 globe_showing_asia_australia 🌏
globe_showing_europe_africa 🌍 golf ⛳ golfing 🏌️ golfing_man 🏌️‍♂️ golfing_woman 🏌️‍♀️ greece 🇬🇷 greenland 🇬🇱
grenada 🇬🇩 grey_exclamation ❕ grey_question ❔ grimacing 😬 grin 😁 grinning 😀 guadeloupe 🇬🇵 guam 🇬🇺
guardswoman 💂‍♀️ guatemala 🇬🇹 guernsey 🇬🇬 guinea 🇬🇳 guinea_bissau 🇬🇼 gun 🔫 guyana 🇬🇾 haircut_man 💇‍♂️
haircut_woman 💇‍♀️ haiti 🇭🇹 hammer_and_wrench 🛠️ hand ✋ hand_over_mouth 🤭 handball_person 🤾 hankey 💩
harambe 🦍 hash #️⃣ hatched_chick 🐥 headphones 🎧 hear_no_evil 🙉 hear_no_evil_monkey 🙉
heard_mcdonald_islands 🇭🇲 heart ❤️ heart_eyes 😍 heart_eyes_cat 😻 heartbeat 💓 heartpulse 💗 hearts ♥️
heavy_check_mark ✔️ heavy_exclamation_mark ❗ heavy_heart_exclamation ❣️ high_brightness 🔆 high_heel 👠
high_heeled_shoe 👠 high_speed_train 🚄 honduras 🇭🇳 hong_kong 🇭🇰 hotdog 🌭 hotsprings ♨️
hourglass_flowing_sand ⏳ hugging 🤗 hugs 🤗 hungary 🇭🇺 hushed 😯 icecream 🍦 iceland 🇮🇸 id 🆔 id_button 🆔
ideograph_advantage 🉐 india 🇮🇳 indonesia 🇮🇩 information_source ℹ️ innocent 😇 interrobang ⁉️ iphone 📱 iran 🇮🇷
iraq 🇮🇶 ireland 🇮🇪 isle_of_man 🇮🇲 israel 🇮🇱 it 🇮🇹 jack_o_lantern 🎃 jamaica 🇯🇲 japan 🇯🇵
japanese_acceptable_button 🉑 japanese_application_button 🈸 japanese_bargain_button 🉐
japanese_congratulations_button ㊗️ japanese_discount_button 🈹 japanese_free_of_charge_button 🈚
japanese_here_button 🈁 japanese_monthly_amount_button 🈷️ japanese_no_vacancy_button 🈵
japanese_not_free_of_charge_button 🈶 japanese_open_for_business_button 🈺 japanese_passing_grade_button 🈴
japanese_prohibited_button 🈲 japanese_reserved_button 🈯 japanese_secret_button ㊙️
japanese_service_charge_button 🈂️ japanese_vacancy_button 🈳 jersey 🇯🇪 jigsaw 🧩 jordan 🇯🇴 joy 😂 joy_cat 😹
jp 🇯🇵 juggling_person 🤹 kazakhstan 🇰🇿 kenya 🇰🇪 kiribati 🇰🇮 kissing 😗 kissing_closed_eyes 😚 kissing_heart 😘
kissing_smiling_eyes 😙 kneeling_man 🧎‍♂️ kneeling_woman 🧎‍♀️ knife 🔪 knocked_out_face 😵 koko 🈁 kosovo 🇽🇰
kr 🇰🇷 kuwait 🇰🇼 kyrgyzstan 🇰🇬 lantern 🏮 laos 🇱🇦 latvia 🇱🇻 laughing 😆 leaves 🍃 lebanon 🇱🇧 left_facing_fist 🤛
lesotho 🇱🇸 liberia 🇱🇷 libya 🇱🇾 liechtenstein 🇱🇮 link 🔗 lithuania 🇱🇹 loop ➿ lotus_position 🧘
lotus_position_man 🧘‍♂️ lotus_position_woman 🧘‍♀️ loud_sound 🔊 loudspeaker 📢 love_you_gesture 🤟
low_brightness 🔅 luxembourg 🇱🇺 m Ⓜ️ macau 🇲🇴 macedonia 🇲🇰 madagascar 🇲🇬 mag 🔍 mag_right 🔎 mage_man 🧙‍♂️
mage_woman 🧙‍♀️ mahjong 🀄 mailbox 📫 mailbox_closed 📪 mailbox_with_mail 📬 mailbox_with_no_mail 📭 malawi 🇲🇼
malaysia 🇲🇾 maldives 🇲🇻 male_detective 🕵️‍♂️ mali 🇲🇱 malta 🇲🇹 man_gesturing_no 🙅‍♂️ man_gesturing_ok 🙆‍♂️
man_technologist 👨‍💻 man_with_probing_cane 👨‍🦯 mandarin 🍊 map_of_japan 🗾 marshall_islands 🇲🇭
martinique 🇲🇶 mask 😷 massage 💆 massage_man 💆‍♂️ massage_woman 💆‍♀️ mauritania 🇲🇷 mauritius 🇲🇺 mayotte 🇾🇹
medal_military 🎖️ medal_sports 🏅 mega 📣 mens 🚹 mens_room 🚹 metal 🤘 mexico 🇲🇽 micronesia 🇫🇲 milk_glass 🥛
moldova 🇲🇩 monaco 🇲🇨 money_mouth_face 🤑 moneybag 💰 mongolia 🇲🇳 monocle_face 🧐 montenegro 🇲🇪 montserrat 🇲🇸
moon 🌔 morocco 🇲🇦 mortar_board 🎓 mountain_biking_man 🚵‍♂️ mountain_biking_woman 🚵‍♀️ mountain_snow 🏔️
mouse2 🐁 mozambique 🇲🇿 mrs_claus 🤶 muscle 💪 mute 🔇 mx_claus 🧑‍🎄 myanmar 🇲🇲 nail_care 💅 namibia 🇳🇦
nauru 🇳🇷 nepal 🇳🇵 netherlands 🇳🇱 new 🆕 new_button 🆕 new_caledonia 🇳🇨 new_moon_face 🌚 new_zealand 🇳🇿
newspaper_roll 🗞️ ng 🆖 ng_button 🆖 ng_man 🙅‍♂️ ng_woman 🙅‍♀️ nicaragua 🇳🇮 niger 🇳🇪 nigeria 🇳🇬 nine 9️⃣
nine_oclock 🕘 nine_thirty 🕤 niue 🇳🇺 no_bell 🔕 no_good 🙅 no_good_man 🙅‍♂️ no_good_woman 🙅‍♀️ no_mouth 😶
non_potable_water 🚱 norfolk_island 🇳🇫 north_korea 🇰🇵 northern_mariana_islands 🇲🇵 norway 🇳🇴 notes 🎶 o ⭕ o2 🅾️
o_button_blood_type 🅾️ ocean 🌊 office 🏢 ok 🆗 ok_button 🆗 ok_hand 👌 ok_man 🙆‍♂️ ok_person 🙆
ok_woman 🙆‍♀️ oman 🇴🇲 on 🔛 on_arrow 🔛 one 1️⃣ one_oclock 🕐 one_piece_swimsuit 🩱 one_thirty 🕜
open_mouth 😮 open_umbrella ☂️ orange 🍊 p_button 🅿️ pakistan 🇵🇰 palau 🇵🇼 palestinian_territories 🇵🇸 panama 🇵🇦
paperclips 🖇️ papua_new_guinea 🇵🇬 paraguay 🇵🇾 parasol_on_ground ⛱️ parking 🅿️ partly_sunny ⛅ partying_face 🥳
pencil 📝 pencil2 ✏️ pensive 😔 persevere 😣 person_gesturing_no 🙅 person_gesturing_ok 🙆
person_with_probing_cane 🧑‍🦯 person_with_turban 👳 peru 🇵🇪 philippines 🇵🇭 phone ☎️ pig2 🐖
pitcairn_islands 🇵🇳 plate_with_cutlery 🍽️ point_down 👇 point_left 👈 point_right 👉 point_up ☝️ point_up_2 👆
poland 🇵🇱 policeman 👮‍♂️ policewoman 👮‍♀️ poop 💩 portugal 🇵🇹 post_office 🏣 pound 💷 pout 😡
pouting_man 🙎‍♂️ pouting_woman 🙎‍♀️ pray 🙏 previous_track_button ⏮️ puerto_rico 🇵🇷 punch 👊
put_litter_in_its_place 🚮 qatar 🇶🇦 question ❓ rabbit2 🐇 racehorse 🐎 rage 😡 raised_eyebrow 🤨
raised_hands 🙌 raising_hand 🙋 raising_hand_man 🙋‍♂️ raising_hand_woman 🙋‍♀️ ramen 🍜 raven 🐦‍⬛ recycle ♻️
red_car 🚗 red_circle 🔴 red_haired_man 👨‍🦰 red_haired_woman 👩‍🦰 relaxed ☺️ relieved 😌 repeat 🔁
repeat_one 🔂 rescue_worker_helmet ⛑️ rescue_workers_helmet ⛑️ reunion 🇷🇪 rewind ⏪ rice 🍚 rice_scene 🎑
right_facing_fist 🤜 robot 🤖 rofl 🤣 roll_eyes 🙄 rolled_up_newspaper 🗞️ romania 🇷🇴 rook 🐦‍⬛
rotating_light 🚨 rowing_man 🚣‍♂️ rowing_woman 🚣‍♀️ ru 🇷🇺 running 🏃 running_man 🏃‍♂️ running_woman 🏃‍♀️
rwanda 🇷🇼 sa 🈂️ samoa 🇼🇸 san_marino 🇸🇲 sandal 👡 santa 🎅 santa_claus 🎅 sao_tome_principe 🇸🇹 sassy_man 💁‍♂️
sassy_woman 💁‍♀️ satisfied 😆 saudi_arabia 🇸🇦 sauna_man 🧖‍♂️ sauna_person 🧖 sauna_woman 🧖‍♀️ scorpio ♏
scotland 🏴󠁧󠁢󠁳󠁣󠁴󠁿 scream 😱 scream_cat 🙀 secret ㊙️ see_no_evil 🙈 see_no_evil_monkey 🙈 senegal 🇸🇳 serbia 🇷🇸
seven 7️⃣ seven_oclock 🕖 seven_thirty 🕢 seychelles 🇸🇨 shell 🐚 shield 🛡️ shirt 👕 shit 💩 shoe 👞 shopping 🛍️
sierra_leone 🇸🇱 signal_strength 📶 singapore 🇸🇬 sint_maarten 🇸🇽 six 6️⃣ six_oclock 🕕 six_pointed_star 🔯
six_thirty 🕡 ski 🎿 sleeping 😴 sleeping_bed 🛌 sleepy 😪 slight_frown 🙁 slight_smile 🙂 slovakia 🇸🇰
slovenia 🇸🇮 small_red_triangle 🔺 small_red_triangle_down 🔻 smile 😄 smile_cat 😸 smiley 😃 smiley_cat 😺
smiling_cat_with_heart_eyes 😻 smiling_face_with_heart_eyes 😍 smiling_face_with_three_hearts 🥰 smiling_imp 😈
smirk 😏 smirk_cat 😼 smoking 🚬 snowman_with_snow ☃️ sob 😭 soccer ⚽ solomon_islands 🇸🇧 somalia 🇸🇴 soon 🔜
soon_arrow 🔜 sos 🆘 sos_button 🆘 sound 🔉 south_africa 🇿🇦 south_georgia_south_sandwich_islands 🇬🇸
south_sudan 🇸🇸 space_invader 👾 spades ♠️ speak_no_evil 🙊 speak_no_evil_monkey 🙊 sri_lanka 🇱🇰
st_barthelemy 🇧🇱 st_helena 🇸🇭 st_kitts_nevis 🇰🇳 st_lucia 🇱🇨 st_martin 🇲🇫 st_pierre_miquelon 🇵🇲
st_vincent_grenadines 🇻🇨 standing_man 🧍‍♂️ standing_woman 🧍‍♀️ star ⭐ star2 🌟 star_struck 🤩 stars 🌠
stew 🍲 stuck_out_tongue 😛 stuck_out_tongue_closed_eyes 😝 stuck_out_tongue_winking_eye 😜 sudan 🇸🇩
sunglasses 😎 sunny ☀️ superhero_man 🦸‍♂️ superhero_woman 🦸‍♀️ supervillain_man 🦹‍♂️
supervillain_woman 🦹‍♀️ surfing_man 🏄‍♂️ surfing_woman 🏄‍♀️ suriname 🇸🇷 svalbard_jan_mayen 🇸🇯 swaziland 🇸🇿
sweat 😓 sweat_drops 💦 sweat_smile 😅 sweden 🇸🇪 sweet_potato 🍠 swim_brief 🩲 swimming_man 🏊‍♂️
swimming_woman 🏊‍♀️ switzerland 🇨🇭 symbols 🔣 syria 🇸🇾 t-rex 🦖 t_rex 🦖 t_shirt 👕 tada 🎉 taiwan 🇹🇼
tajikistan 🇹🇯 tanzania 🇹🇿 tea 🍵 tear_off_calendar 📆 ten 🔟 ten_oclock 🕙 ten_thirty 🕥 thailand 🇹🇭
thinking 🤔 three 3️⃣ three_oclock 🕒 three_thirty 🕞 thumbsdown 👎 thumbsup 👍 tickets 🎟️ tiger2 🐅
timor_leste 🇹🇱 tipping_hand_man 💁‍♂️ tipping_hand_person 💁 tipping_hand_woman 💁‍♀️ tm ™️ togo 🇹🇬 tokelau 🇹🇰
tonga 🇹🇴 tools 🛠️ top 🔝 top_arrow 🔝 tophat 🎩 tr 🇹🇷 traffic_light 🚥 train2 🚆 trident 🔱 trinidad_tobago 🇹🇹
tristan_da_cunha 🇹🇦 triumph 😤 truck 🚚 tshirt 👕 tunisia 🇹🇳 turkmenistan 🇹🇲 turks_caicos_islands 🇹🇨 tuvalu 🇹🇻
tv 📺 twelve_oclock 🕛 twelve_thirty 🕧 two 2️⃣ two_hump_camel 🐫 two_oclock 🕑 two_thirty 🕝 u5272 🈹 u5408 🈴
u55b6 🈺 u6307 🈯 u6708 🈷️ u6709 🈶 u6e80 🈵 u7121 🈚 u7533 🈸 u7981 🈲 u7a7a 🈳 uganda 🇺🇬 uk 🇬🇧 ukraine 🇺🇦
unamused 😒 underage 🔞 united_arab_emirates 🇦🇪 united_nations 🇺🇳 unlock 🔓 up 🆙 up_button 🆙 up_left_arrow ↖️
up_right_arrow ↗️ upside_down_face 🙃 uruguay 🇺🇾 us 🇺🇸 us_outlying_islands 🇺🇲 us_virgin_islands 🇻🇮
uzbekistan 🇺🇿 v ✌️ vampire_man 🧛‍♂️ vampire_woman 🧛‍♀️ vanuatu 🇻🇺 vatican_city 🇻🇦 venezuela 🇻🇪 vhs 📼
vietnam 🇻🇳 vomiting_face 🤮 vs 🆚 vs_button 🆚 wales 🏴󠁧󠁢󠁷󠁬󠁳󠁿 walking 🚶 walking_man 🚶‍♂️ walking_woman 🚶‍♀️
wallis_futuna 🇼🇫 warning ⚠️ wave 👋 wc 🚾 weary 😩 weight_lifting 🏋️ weight_lifting_man 🏋️‍♂️
weight_lifting_woman 🏋️‍♀️ western_sahara 🇪🇭 whale2 🐋 wheelchair ♿ white_check_mark ✅ white_haired_man 👨‍🦳
white_haired_woman 👩‍🦳 wink 😉 woman_gesturing_no 🙅‍♀️ woman_gesturing_ok 🙆‍♀️
woman_with_probing_cane 👩‍🦯 woman_with_turban 👳‍♀️ womans_boot 👢 womens 🚺 womens_room 🚺 worried 😟
wrestling 🤼 x ❌ x_ray 🩻 yemen 🇾🇪 yen 💴 yo_yo 🪀 yum 😋 zambia 🇿🇲 zap ⚡ zero 0️⃣ zimbabwe 🇿🇼
zipper_mouth_face 🤐 zombie_man 🧟‍♂️ zombie_woman 🧟‍♀️ zzz 💤
"""


@cache
def short_names() -> dict[str, str]:
    """The character of each short name."""
    each = iter(_NAMES.split())
    return dict(zip(each, each, strict=True))
