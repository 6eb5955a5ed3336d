/**
 * `npm run bench [-- figures… --full --soak=<minutes> --with=<commit or folder> --draw=<file> --list --json]` prints every result with its bar and with the
 * baseline that was measured in the same run. Absolute values depend on the machine; ratios are decisive. `--list`
 * also prints the source files that the figure `files` counts.
 */
import { cpus, loadavg } from 'node:os'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { usageOf } from '../kit/usage.ts'
import type { Figure, Row } from './figure.ts'
import { acp } from './figures/acp.ts'
import { browser } from './figures/browser.ts'
import { compare } from './figures/compare.ts'
import { connect } from './figures/connect.ts'
import { cron } from './figures/cron.ts'
import { dashboard } from './figures/dashboard.ts'
import { docker } from './figures/docker.ts'
import { files } from './figures/files.ts'
import { hooks } from './figures/hooks.ts'
import { hosts } from './figures/hosts.ts'
import { image } from './figures/image.ts'
import { keys } from './figures/keys.ts'
import { load } from './figures/load.ts'
import { managed } from './figures/managed.ts'
import { mcpFigure } from './figures/mcp.ts'
import { loaded, memory, soak } from './figures/memory.ts'
import { metrics } from './figures/metrics.ts'
import { packageFigure } from './figures/package.ts'
import { permissions } from './figures/permissions.ts'
import { pictures } from './figures/pictures.ts'
import { platforms } from './figures/platforms.ts'
import { profile } from './figures/profile.ts'
import { provider } from './figures/provider.ts'
import { rate } from './figures/rate.ts'
import { recall } from './figures/recall.ts'
import { request } from './figures/request.ts'
import { sandbox } from './figures/sandbox.ts'
import { scanFigure } from './figures/scan.ts'
import { skills } from './figures/skills.ts'
import { ssh } from './figures/ssh.ts'
import { start } from './figures/start.ts'
import { stop } from './figures/stop.ts'
import { store } from './figures/store.ts'
import { stream } from './figures/stream.ts'
import { tui } from './figures/tui.ts'
import { turn } from './figures/turn.ts'
import { version } from './figures/version.ts'
import { web } from './figures/web.ts'
import { webhook } from './figures/webhook.ts'
import { window } from './figures/window.ts'
import { jsonOf, tableOf } from './report.ts'

const figures: readonly Figure[] = [
  start,
  connect,
  version,
  packageFigure,
  image,
  acp,
  tui,
  scanFigure,
  mcpFigure,
  turn,
  profile,
  metrics,
  load,
  rate,
  cron,
  webhook,
  stream,
  platforms,
  stop,
  store,
  managed,
  permissions,
  skills,
  sandbox,
  docker,
  ssh,
  hosts,
  hooks,
  provider,
  keys,
  request,
  recall,
  dashboard,
  web,
  browser,
  window,
  pictures,
  files,
  memory,
  loaded,
  soak,
  compare,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    draw: { type: 'string' },
    full: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    soak: { type: 'string', default: '0' },
    with: { type: 'string' },
  },
})
const known = figures.map(({ name, about }) => `  ${name.padEnd(9)} ${about}\n`).join('')
if (values.help) {
  process.stdout.write(`${usageOf(import.meta.url)}\nFigures:\n${known}`)
  process.exit(0)
}
const unknown = positionals.filter((name) => !figures.some((figure) => figure.name === name))
if (unknown.length > 0) {
  process.stderr.write(`Unknown figure: ${unknown.join(', ')}. Known figures:\n${known}`)
  process.exit(2)
}

if (positionals.includes('compare') && values.with === undefined) {
  process.stderr.write('compare needs --with <commit or folder>\n')
  process.exit(2)
}
const chosen = figures.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const begun = performance.now()
const rows: Row[] = []
for (const figure of chosen) {
  const options = {
    full: values.full,
    list: values.list,
    soakMinutes: Number(values.soak),
    other: values.with,
    drawTo: values.draw,
    progress: (line: string) => process.stderr.write(`${figure.name}: ${line}\n`),
  }
  rows.push(...(await figure.measure(options)))
}
const took = Math.round((performance.now() - begun) / 1_000)
process.stdout.write(values.json ? `${jsonOf(rows)}\n` : `${tableOf(rows)}\n`)
process.stderr.write(
  `${took} s on ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, node ${process.versions.node}\n`,
)
