/**
 * `hermes status`: the state of the daemon; without one, the state of the files of the home.
 */
import { pauseWarnings } from '../flows/lifecycle/problems.ts'
import type { KeyReport } from '../flows/models/key-status.ts'
import { formatDuration } from '../lib/duration.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { defaultProfile } from '../lib/profiles.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { readPause } from '../sessions/pause-file.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { type Daemon, type DaemonReport, findRunningDaemon, warnVersionMismatch } from './kit/daemon.ts'
import { type Cell, createDisplay, type Display } from './kit/display.ts'
import { readSettings, type Settings } from './kit/settings.ts'
import { describeAccess, readAccessReport } from './shared/access-report.ts'
import { configFindings } from './shared/config-findings.ts'
import { countDeadLetters, describeDeadLetters } from './shared/dead-letter-counts.ts'
import { selectionOf } from './shared/known-keys.ts'

type Field = readonly [name: string, value: Cell]

/** Exit code 3 when no daemon is running. Throws what `findRunningDaemon` throws. */
export async function status(context: CliContext, { json }: JsonOption): Promise<void> {
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  const waiting = countDeadLetters(context.home)
  const access = readAccessReport(context)
  const display = createDisplay(context.output, context.environment)
  if (daemon === undefined) context.exitCode = exitCodes.noDaemon
  else warnVersionMismatch(context, daemon)
  const keys = await readKeys(context, settings)
  if (json) {
    const known = daemon === undefined ? homeStatus(context, settings) : daemonStatus(daemon, settings)
    return display.json({
      running: daemon !== undefined,
      profile: context.profile,
      ...known,
      waiting,
      access,
      keys: keys.status,
    })
  }
  const attention = [...describeDeadLetters(waiting), ...describeAccess(access).attention].map(
    (line): Field => ['Needs you', { text: line, tone: 'warn' }],
  )
  const refused = describeAccess(access).refused.map((text): Field => ['Refused', { text, tone: 'dim' }])
  const fields: Field[] = [
    ...profileFields(context),
    ...(daemon === undefined ? homeFields(context) : daemonFields(daemon)),
    ...keys.lines.map(
      ({ text, isGood }): Field => ['Keys', { text: toSingleLine(text), tone: isGood ? 'dim' : 'warn' }],
    ),
  ]
  const start: Field[] = daemon === undefined ? [['Start', 'npm start  (or hermes gateway run)']] : []
  const configuration = configFindings(settings, daemon, context.home).map(
    ({ kind, text }): Field => [configNames[kind], { text, tone: configTones[kind] }],
  )
  display.line(formatHeadline(display, daemon))
  display.fields(
    omitRepeatedNames([...fields, ...configuration, ...refused, ...start, ...attention], display.isTerminal),
  )
}

/** Reads the keys from the files, which a running gateway keeps up to date. */
async function readKeys({ home }: CliContext, settings: Settings): Promise<KeyReport> {
  const { reportKeys } = await import('../flows/models/key-status.ts')
  const { fallback_providers: fallbacks } = settings.config.current()
  return reportKeys({ path: home.authFile, selection: selectionOf(settings, undefined), fallbacks, now: Date.now() })
}

const configTones = { problem: 'bad', warning: 'warn', degraded: 'warn', note: 'dim' } as const
const configNames = { problem: 'Problem', warning: 'Warning', degraded: 'Degraded', note: 'Note' } as const

/** Most homes have one profile. */
function profileFields({ profile }: CliContext): Field[] {
  return profile === defaultProfile ? [] : [['Profile', profile]]
}

function homeFields({ home }: CliContext): Field[] {
  const paused = pauseWarnings(readPause(home.pauseFile))
  return [['Home', home.root], ...paused.map((text): Field => ['Degraded', { text, tone: 'warn' }])]
}

function homeStatus({ home, version }: CliContext, { config }: Settings) {
  const { source, problems, warnings, notes, degraded } = config.state()
  return {
    version,
    home: home.root,
    degraded: pauseWarnings(readPause(home.pauseFile)),
    config: { source, problems, warnings, notes, degraded },
  }
}

function daemonStatus({ report }: Daemon, { config }: Settings) {
  const { problems, warnings, notes } = config.state()
  return { ...report, config: { problems, warnings, notes } }
}

function formatHeadline(display: Display, daemon: Daemon | undefined): string {
  if (daemon === undefined) return display.tone('warn', 'No gateway is running on this home.')
  const { report } = daemon
  const isHealthy = report.status === 'ready' && report.degraded.length === 0
  const state = report.status === 'ready' && !isHealthy ? 'ready, but degraded' : report.status
  const since = `process ${report.pid}, for ${formatDuration(report.uptimeMs)}`
  return `hermes-gateway ${toSingleLine(report.version)} is ${display.tone(isHealthy ? 'good' : 'warn', state)} (${since})`
}

function daemonFields({ report, url }: Daemon): Field[] {
  const { running, waiting } = report.turns
  const platforms = Object.entries(report.platforms).filter(([, { state }]) => state !== 'disabled')
  return [
    ['Page', `${url}  (hermes web url prints it with the token)`],
    ['Model', modelText(report)],
    ['Home', report.home],
    ['Turns', `${running} running, ${waiting} waiting`],
    ...report.background.map(
      ({ id, by, ageMs }): Field => [
        'Background',
        `${toSingleLine(id)}  ${toSingleLine(by)}, for ${formatDuration(ageMs)}`,
      ],
    ),
    ...platforms.map(([name, health]): Field => ['Platforms', platformCell(name, health)]),
    ...report.homeChannels.map((home): Field => ['Home channels', homeChannelText(home)]),
    ...report.hooks.map((hook): Field => ['Hooks', { text: formatFailure(hook.name, hook), tone: 'warn' }]),
    ...report.plugins.map((plugin): Field => ['Plugins', { text: formatFailure(plugin.id, plugin), tone: 'warn' }]),
    ...report.daemons.map((daemon): Field => ['Daemons', daemonCell(daemon)]),
    ...report.degraded.map((reason): Field => ['Degraded', { text: reason, tone: 'warn' }]),
    ...report.pendingRestart.map((path): Field => ['Restart needed', { text: `${path} was changed`, tone: 'warn' }]),
  ]
}

function homeChannelText({ target, name, origin }: DaemonReport['homeChannels'][number]): string {
  const { platform, account, chatId } = target
  const bot = account === 'default' ? '' : `/${account}`
  const source = origin === 'command' ? 'chosen with /sethome' : 'from the configuration'
  return toSingleLine(`${platform}${bot}:${chatId}${name === undefined ? '' : `  ${name}`}, ${source}`)
}

function modelText({ model, provider }: { readonly model: string; readonly provider: string }): string {
  if (provider === 'demo') return 'none (offline demonstration)'
  return `${model === '' ? 'none' : model} (${provider})`
}

function formatFailure(name: string, { state, reason }: { readonly state: string; readonly reason: string }): string {
  return `${name} ${state}${reason === '' ? '' : `: ${reason}`}`
}

function daemonCell({ name, owner, state, restarts, reason }: DaemonReport['daemons'][number]): Cell {
  const restarted = restarts === 0 ? '' : `, restarted ${restarts === 1 ? 'once' : `${restarts} times`}`
  const text = `${name} (${owner})  ${state}${restarted}${reason === '' ? '' : `; last failure: ${reason}`}`
  return state === 'restarting' ? { text, tone: 'warn' } : text
}

function platformCell(name: string, { state, reason, receiving }: DaemonReport['platforms'][string]): Cell {
  // "receiving" would contradict the reason.
  if (state === 'connected' && reason !== undefined) return { text: `${name}  degraded: ${reason}`, tone: 'warn' }
  const known = state === 'connected' && typeof receiving === 'boolean'
  const activity = known ? `, ${receiving ? 'receiving' : 'not receiving'}` : ''
  const text = `${name}  ${state}${activity}${reason === undefined ? '' : `: ${reason}`}`
  if (state === 'failed' || state === 'degraded') return { text, tone: 'bad' }
  return known && !receiving ? { text, tone: 'warn' } : text
}

/** On a terminal, only the first of several rows with the same name shows it. Scripts get it in every row. */
function omitRepeatedNames(fields: readonly Field[], isTerminal: boolean): Field[] {
  if (!isTerminal) return [...fields]
  return fields.map(([name, value], index) => [fields[index - 1]?.[0] === name ? '' : name, value])
}
