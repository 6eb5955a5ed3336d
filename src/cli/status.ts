/**
 * `hermes status`: how the daemon is, and without one, what the files of the home tell.
 */
import { formatProblem } from '../config/problem.ts'
import { attentionLines, countAttention } from './attention.ts'
import type { CliContext } from './context.ts'
import { type Daemon, type DaemonReport, findRunningDaemon, warnOfOtherVersion } from './daemon.ts'
import { type Cell, createDisplay, type Display, duration, oneLine } from './display.ts'
import { exitCodes } from './failure.ts'
import { readSettings, type Settings } from './settings.ts'

type Fact = readonly [name: string, value: Cell]

/** Exit code 3 when no daemon runs. Throws what `findRunningDaemon` throws. */
export async function status(context: CliContext, { json }: { readonly json: boolean }): Promise<void> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token, fetch })
  const waiting = countAttention(context.home)
  const display = createDisplay(context.output, context.environment)
  if (daemon === undefined) context.exitCode = exitCodes.noDaemon
  else warnOfOtherVersion(context, daemon)
  if (json) {
    const known = daemon === undefined ? withoutDaemon(context, settings) : daemon.report
    return display.json({ running: daemon !== undefined, ...known, waiting })
  }
  const attention = attentionLines(waiting).map((line): Fact => ['Needs you', { text: line, tone: 'warn' }])
  const facts = daemon === undefined ? factsOfHome(context, settings) : factsOf(daemon)
  display.line(headline(display, daemon))
  display.facts(withoutRepeats([...facts, ...attention], display.terminal))
}

function withoutDaemon({ home, version }: CliContext, { config }: Settings) {
  const { source, problems, warnings, degraded } = config.state()
  return { version, home: home.root, config: { source, problems, warnings, degraded } }
}

function headline(display: Display, daemon: Daemon | undefined): string {
  if (daemon === undefined) return display.tone('warn', 'No gateway is running on this home.')
  const { report } = daemon
  const well = report.status === 'ready' && report.degraded.length === 0
  const state = report.status === 'ready' && !well ? 'ready, but degraded' : report.status
  const since = `process ${report.pid}, for ${duration(report.uptimeMs)}`
  return `hermes-gateway ${oneLine(report.version)} is ${display.tone(well ? 'good' : 'warn', state)} (${since})`
}

function factsOf({ report, url }: Daemon): Fact[] {
  const { running, waiting } = report.turns
  const platforms = Object.entries(report.platforms).filter(([, { state }]) => state !== 'disabled')
  return [
    ['Page', `${url}  (hermes web url prints it with the token)`],
    ['Model', modelText(report)],
    ['Home', report.home],
    ['Turns', `${running} running, ${waiting} waiting`],
    ...report.background.map(
      ({ id, by, ageMs }): Fact => ['Background', `${oneLine(id)}  ${oneLine(by)}, for ${duration(ageMs)}`],
    ),
    ...platforms.map(([name, health]): Fact => ['Platforms', platformCell(name, health)]),
    ...report.hooks.map((hook): Fact => ['Hooks', { text: troubleText(hook.name, hook), tone: 'warn' }]),
    ...report.plugins.map((plugin): Fact => ['Plugins', { text: troubleText(plugin.id, plugin), tone: 'warn' }]),
    ...report.daemons.map((daemon): Fact => ['Daemons', daemonCell(daemon)]),
    ...report.degraded.map((reason): Fact => ['Degraded', { text: reason, tone: 'warn' }]),
    ...report.pendingRestart.map((path): Fact => ['After a restart', { text: `${path} was changed`, tone: 'warn' }]),
  ]
}

function modelText({ model, provider }: { readonly model: string; readonly provider: string }): string {
  if (provider === 'demo') return 'none: the offline demonstration answers'
  return `${model === '' ? 'none is named' : model} (${provider})`
}

function troubleText(name: string, { state, reason }: { readonly state: string; readonly reason: string }): string {
  return `${name} ${state}${reason === '' ? '' : `: ${reason}`}`
}

function daemonCell({ name, owner, state, restarts, reason }: DaemonReport['daemons'][number]): Cell {
  const again = restarts === 0 ? '' : `, started again ${restarts === 1 ? 'once' : `${restarts} times`}`
  const text = `${name} (${owner})  ${state}${again}${reason === '' ? '' : `; last failure: ${reason}`}`
  return state === 'restarting' ? { text, tone: 'warn' } : text
}

function platformCell(name: string, { state, reason, receiving }: DaemonReport['platforms'][string]): Cell {
  // Connected, and in trouble: "receiving" beside it would contradict the reason.
  if (state === 'connected' && reason !== undefined)
    return { text: `${name}  works with difficulty: ${reason}`, tone: 'warn' }
  const known = state === 'connected' && typeof receiving === 'boolean'
  const flow = known ? `, ${receiving ? 'receiving' : 'nothing comes in'}` : ''
  const text = `${name}  ${state}${flow}${reason === undefined ? '' : `: ${reason}`}`
  if (state === 'failed' || state === 'degraded') return { text, tone: 'bad' }
  return known && !receiving ? { text, tone: 'warn' } : text
}

function factsOfHome({ home }: CliContext, { config }: Settings): Fact[] {
  const { problems, warnings, degraded } = config.state()
  return [
    ['Home', home.root],
    ...problems.map((problem): Fact => ['Problem', { text: formatProblem(problem), tone: 'bad' }]),
    ...warnings.map((warning): Fact => ['Warning', { text: formatProblem(warning), tone: 'warn' }]),
    ...degraded.map((reason): Fact => ['Degraded', { text: reason, tone: 'warn' }]),
    ['Start it', 'npm start  (or hermes gateway run)'],
  ]
}

/** On a terminal a name stands once above the rows that share it; scripts want it in each. */
function withoutRepeats(facts: readonly Fact[], terminal: boolean): Fact[] {
  if (!terminal) return [...facts]
  return facts.map(([name, value], index) => [facts[index - 1]?.[0] === name ? '' : name, value])
}
