# Welcome

The Harbour API answers three questions about a stretch of quay: how deep is the water now, how deep will it be, and
should anyone be worried. It is the same data that harbour masters see in Quayside, our desk software, and it comes
from the same Limpet gauges bolted to the same walls.

<a href="get-started/quickstart.md" class="button primary" data-icon="rocket">Start in five minutes</a> <a href="look-up/reference/README.md" class="button secondary">Open the reference</a> <button data-action="search" data-query="surge">Search for “surge”</button>

## What do you want to do?

<table data-view="cards" data-card-size="large"><thead><tr><th></th><th></th><th data-hidden data-card-target data-type="content-ref"></th><th data-hidden data-card-cover data-type="image"></th></tr></thead><tbody><tr><td><strong>Show the tide</strong></td><td>Draw a curve for a harbour, measured behind now and predicted ahead of it.</td><td><a href="get-started/first-tide-table.md">first-tide-table.md</a></td><td><a href=".gitbook/assets/tide-curve.svg">tide-curve.svg</a></td></tr><tr><td><strong>Be told about a surge</strong></td><td>Get a webhook when the water leaves the predicted band, before it reaches the quay.</td><td><a href="how-to/guides/alerts.md">alerts.md</a></td><td><a href=".gitbook/assets/surge.svg">surge.svg</a></td></tr><tr><td><strong>Plan a berth</strong></td><td>Find the hours in which a ship of a given draught can come in, lie, and leave.</td><td><a href="how-to/guides/berth-planning.md">berth-planning.md</a></td><td><a href=".gitbook/assets/under-keel.png">under-keel.png</a></td></tr><tr><td><strong>Look back</strong></td><td>Query nine years of six-minute levels with SQL, and export what you find.</td><td><a href="how-to/guides/archive.md">archive.md</a></td><td></td></tr></tbody></table>

## Three things to know first

1. **Heights are in metres above chart datum**, never above “sea level”. [Water levels and datums](concepts/water-levels.md)
   says why that difference has put ships aground.
2. **Times are in UTC**, and the API refuses a time without a zone. See [Time and time zones](concepts/time.md).
3. **Every level carries a quality flag.** A number without its flag is half an answer; see
   [Quality flags](concepts/quality-flags.md).

{% hint style="info" %}
The examples in this manual use the test key `salt_test_tollan`. It works without an account, for the station Tollan Quay
only, and answers with recorded data from March 2025. You cannot break anything with it.
{% endhint %}

## Other manuals

The gauge itself is described in the [Limpet manual](https://app.gitbook.com/s/limpet/). Where the gauges stand, and
what is known about each site, is in the [Station register](https://app.gitbook.com/s/stations/). How we write all of this is
in our [handbook](https://app.gitbook.com/s/handbook/writing/style-guide).
