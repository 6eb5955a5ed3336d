/**
 * `hermes service`: the gateway as a service of this user, which starts with the machine and again after a failure.
 */
import { rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { catalogue } from '../agent/models/catalogue.ts'
import { gatewayVariables } from '../app/config.ts'
import { isSecretName } from '../config/secrets.ts'
import { HermesError } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { prepareHome } from '../lib/home.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { isProcessAlive, readPidFile } from './kit/daemon.ts'
import { type Cell, createDisplay } from './kit/display.ts'
import { runProgram } from './kit/run-program.ts'
import { readSettings, type Settings } from './kit/settings.ts'
import { createLaunchdManager } from './service/launchd.ts'
import { defineService, marker, type ServiceManager } from './service/service-manager.ts'
import { createSystemdManager } from './service/systemd.ts'

/** The machine on which the service runs. */
export interface ServiceMachine {
  readonly platform: NodeJS.Platform
  readonly userId: number
  readonly userName: string
}

export interface ServiceInstallOptions {
  /** Prints the file, and changes nothing. */
  readonly print: boolean
  readonly start: boolean
}

function thisMachine(): ServiceMachine {
  const { uid, username } = userInfo()
  return { platform: process.platform, userId: uid, userName: username }
}

/** May be called again: what is as it should be stays. Throws `service/…`, `home/unusable`. */
export async function serviceInstall(
  context: CliContext,
  { print, start }: ServiceInstallOptions,
  machine = thisMachine(),
): Promise<void> {
  const { output, errors, home } = context
  const settings = await readSettings(context)
  const manager = openManager(context, settings, machine)
  if (print) return void output.write(manager.text)
  const present = readOwnFile(manager)
  // Refused before anything is written.
  await manager.state()
  prepareHome(home)
  const isChanged = present !== manager.text
  if (isChanged) {
    ensureDirectory(dirname(manager.file), 0o755)
    writeFileAtomic(manager.file, manager.text, 0o644)
  }
  output.write(`${isChanged ? 'Wrote' : 'Unchanged:'} ${manager.file}\n`)
  await manager.enable()
  for (const name of variablesOfThisShell(context, settings))
    errors.write(`hermes: ${name} is set in this shell only; write it into ${home.envFile} for the service.\n`)
  await startService(context, manager, { start, isChanged })
  const advice = await manager.bootAdvice()
  if (advice !== undefined) errors.write(`hermes: ${advice}\n`)
}

async function startService(
  { output, errors, home }: CliContext,
  manager: ServiceManager,
  { start, isChanged }: { readonly start: boolean; readonly isChanged: boolean },
): Promise<void> {
  const { active, pid } = await manager.state()
  if (active && !isChanged) return void output.write(`${manager.service} runs (process ${pid ?? '?'}).\n`)
  if (!start) return void output.write(`${manager.service} starts by itself from the next time on.\n`)
  const other = active ? undefined : readPidFile(home)
  if (other !== undefined && isProcessAlive(other.pid)) {
    errors.write(
      `hermes: process ${other.pid} already runs this gateway. \`hermes gateway stop\` and \`hermes service install\` let the service take over.\n`,
    )
    return
  }
  await manager.start(active)
  output.write(`${manager.service} was ${active ? 'restarted' : 'started'}. \`hermes status\` shows its state.\n`)
}

/** May be called again. Throws `service/…`. */
export async function serviceUninstall(context: CliContext, machine = thisMachine()): Promise<void> {
  const manager = openManager(context, await readSettings(context), machine)
  if (readOwnFile(manager) === undefined)
    return void context.output.write(`${manager.service} is not installed (${manager.file}).\n`)
  await manager.disable()
  rmSync(manager.file, { force: true })
  await manager.forget()
  context.output.write(
    `Stopped ${manager.service} and removed ${manager.file}. The home ${context.home.root} stays as it is.\n`,
  )
}

/** Exit code 3 when the service does not run. Throws `service/…`. */
export async function serviceStatus(context: CliContext, { json }: JsonOption, machine = thisMachine()): Promise<void> {
  const manager = openManager(context, await readSettings(context), machine)
  const text = readTextIfExists(manager.file)
  const isInstalled = text?.includes(marker) === true
  const state = isInstalled ? await manager.state() : { enabled: false, active: false, pid: undefined, detail: '' }
  if (!state.active) context.exitCode = exitCodes.noDaemon
  const isCurrent = text === manager.text
  const { name, service, file } = manager
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ manager: name, service, file, installed: isInstalled, current: isCurrent, ...state })
  if (!isInstalled) return display.line(`${service} is not installed. \`hermes service install\` installs it.`)
  const rows: (readonly [string, Cell])[] = [
    ['Service', `${service} (${name})`],
    ['State', { text: toSingleLine(state.detail), tone: state.active ? 'good' : 'warn' }],
    ['Starts by itself', state.enabled ? 'yes' : { text: 'no; hermes service install', tone: 'warn' }],
    ['File', file],
  ]
  if (!isCurrent)
    rows.push(['File', { text: 'not as this installation writes it; hermes service install', tone: 'warn' }])
  if (state.pid !== undefined) rows.push(['Process', String(state.pid)])
  display.fields(rows)
}

/** What the service printed, as the service manager keeps it. Throws `cli/failed`. */
export async function serviceLogs(
  context: CliContext,
  options: { readonly follow: boolean; readonly lines: number },
  machine = thisMachine(),
): Promise<void> {
  const manager = openManager(context, await readSettings(context), machine)
  const [program = '', ...args] = manager.logCommand(options)
  const isTerminal = context.output === process.stdout
  const result = await runProgram(program, args, { environment: environmentOf(context, machine), inherit: isTerminal })
  context.output.write(result.stdout)
  context.errors.write(result.stderr)
  if (result.code !== 0) context.exitCode = exitCodes.failed
}

function openManager(context: CliContext, { config }: Settings, machine: ServiceMachine): ServiceManager {
  const { home, program, environment } = context
  const { platform, userId, userName } = machine
  const userHome = environment['HOME'] || userInfo().homedir
  const drainSeconds = config.current().agent.drain_timeout
  const definition = defineService({ home: home.root, program, environment, userHome, drainSeconds })
  const run = (name: string, args: readonly string[]) =>
    runProgram(name, args, { environment: environmentOf(context, machine) }).catch((cause: unknown) => {
      throw new HermesError('service/unavailable', `There is no usable ${name} on the PATH.`, { cause })
    })
  if (platform === 'darwin') return createLaunchdManager({ definition, userId, logs: home.logs, run })
  if (platform !== 'linux') throw new HermesError('service/unavailable', `(${platform})`)
  const configDirectory = environment['XDG_CONFIG_HOME'] || join(userHome, '.config')
  return createSystemdManager({ definition, configDirectory, userName, run })
}

/** A shell of `su` or of cron does not know where the service manager of the user listens. */
function environmentOf({ environment }: CliContext, { platform, userId }: ServiceMachine) {
  if (platform !== 'linux' || environment['XDG_RUNTIME_DIR'] !== undefined) return environment
  return { ...environment, XDG_RUNTIME_DIR: `/run/user/${userId}` }
}

/** The text of the file; undefined without one. Throws `service/foreign` for the file of another program. */
function readOwnFile({ file }: ServiceManager): string | undefined {
  const text = readTextIfExists(file)
  if (text !== undefined && !text.includes(marker)) throw new HermesError('service/foreign', `(${file})`)
  return text
}

/** Keys that the gateway would find here and not in the service. */
function variablesOfThisShell({ environment }: CliContext, { config, catalogue: { platforms } }: Settings): string[] {
  const names = [
    ...Object.values(catalogue).flatMap(({ keyVariables }) => keyVariables),
    ...gatewayVariables(platforms).map(({ variable }) => variable),
  ]
  const { file } = config.environment()
  return [...new Set(names)].filter(
    (name) => isSecretName(name) && (environment[name] ?? '') !== '' && file[name] === undefined,
  )
}
