/**
 * The time of a turn as a picture: a line per folder, darker where more turns were in it at that time.
 */
import { type Area, bins } from './profile-areas.ts'

const left = 250
const width = 600
const right = 90
const top = 56
const lineHeight = 24

/** An SVG document that follows the colour scheme of its reader. */
export function drawAreas(
  areas: readonly Area[],
  { answeredMs, untilMs }: { answeredMs: number; untilMs: number },
): string {
  const bottom = top + areas.length * lineHeight
  const x = (ms: number) => left + (ms / untilMs) * width
  const step = [0.5, 1, 2, 5, 10].find((ms) => untilMs / ms <= 8) ?? 20
  const ticks = Array.from({ length: Math.floor(untilMs / step) + 1 }, (_, index) => index * step)
  const lines = areas.map((area, index) => areaLine(area, top + index * lineHeight))
  const marks = ticks.map(
    (ms) =>
      `<line class="tick" x1="${x(ms).toFixed(1)}" x2="${x(ms).toFixed(1)}" y1="${top - 6}" y2="${bottom}"/>` +
      `<text class="scale" x="${x(ms).toFixed(1)}" y="${top - 12}" text-anchor="middle">${ms} ms</text>`,
  )
  const answered = x(answeredMs).toFixed(1)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${left + width + right} ${bottom + 34}" role="img" aria-labelledby="title">
<title id="title">Where the time of a turn goes</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.scale, .note { font-size: 11px; fill: #656d76 }
.tick { stroke: #d0d7de }
.answered { stroke: #bc4c00; stroke-dasharray: 3 3 }
rect { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .scale, .note { fill: #8d96a0 } .tick { stroke: #30363d } rect { fill: #4493f8 }
}
</style>
<text x="0" y="16">One turn with an instant model. Darker: more turns ran this folder at this time.</text>
${marks.join('\n')}
${lines.join('\n')}
<line class="answered" x1="${answered}" x2="${answered}" y1="${top - 6}" y2="${bottom + 6}"/>
<text class="note" x="${answered}" y="${bottom + 20}" text-anchor="middle">half of the users have their reply</text>
</svg>
`
}

function areaLine({ name, ms, shares }: Area, y: number): string {
  const step = width / bins
  const cells = shares.flatMap((share, bin) =>
    share < 0.01
      ? []
      : [
          `<rect x="${(left + bin * step).toFixed(1)}" y="${y + 3}" width="${(step + 0.3).toFixed(1)}" height="${lineHeight - 6}" opacity="${Math.min(1, share).toFixed(2)}"/>`,
        ],
  )
  return [
    `<text x="${left - 12}" y="${y + 16}" text-anchor="end">${name}</text>`,
    ...cells,
    `<text x="${left + width + 12}" y="${y + 16}">${ms.toFixed(2)} ms</text>`,
  ].join('\n')
}
