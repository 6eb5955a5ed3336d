/**
 * What the gateway needs of the program that starts services on a machine.
 */
import { createHash } from 'node:crypto'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { ProcessEnvironment } from '../../config/environment.ts'
import { runtimeSetup } from '../../config/runtime-setup.mjs'
import { findProfileNameProblem, locateProfile } from '../../lib/profiles.ts'

/** In every file that this program writes, so that it replaces no file of another program. */
export const marker = 'Written by `hermes service install`'

export interface ServiceState {
  /** It starts by itself. */
  readonly enabled: boolean
  readonly active: boolean
  /** The process; undefined if it does not run. */
  readonly pid: number | undefined
  /** In the words of the service manager. */
  readonly detail: string
}

export interface ServiceManager {
  readonly name: 'systemd' | 'launchd'
  /** The name of the service there. */
  readonly service: string
  /** The file that describes the service, and the text that it should have. */
  readonly file: string
  readonly text: string
  /** Rejects `service/…`. */
  state(): Promise<ServiceState>
  /** Makes it start by itself, and lets the service manager read the file again. Rejects `service/…`. */
  enable(): Promise<void>
  /** Starts it, or starts it again if `restart`. Rejects `service/…`. */
  start(restart: boolean): Promise<void>
  /** Stops it, and makes it start no more. It may be unknown. Rejects `service/…`. */
  disable(): Promise<void>
  /** After the file was removed. Rejects `service/…`. */
  forget(): Promise<void>
  /** What is still missing for a start at boot; undefined for nothing. Never rejects. */
  bootAdvice(): Promise<string | undefined>
  /** The command that shows what the service printed. */
  logCommand(options: { readonly follow: boolean; readonly lines: number }): readonly string[]
}

/** What the service runs. */
export interface ServiceDefinition {
  /** The home of the gateway. */
  readonly home: string
  /** The home of the user. */
  readonly userHome: string
  readonly suffix: string
  readonly command: readonly string[]
  readonly variables: Readonly<Record<string, string>>
  /** How long a stop may take. */
  readonly stopSeconds: number
}

export interface DefinitionOptions {
  readonly home: string
  /** The command line of this program, without arguments. */
  readonly program: readonly string[]
  readonly environment: ProcessEnvironment
  readonly userHome: string
  readonly drainSeconds: number
}

/** Beyond the time that running turns have: for closing the database and the platforms. */
const stopGraceSeconds = 15

/** The command line is the one to which `hermes gateway run` changes itself, so that the process starts once. */
export function defineService({
  home,
  program,
  environment,
  userHome,
  drainSeconds,
}: DefinitionOptions): ServiceDefinition {
  const [execPath = '', ...script] = program
  const argv = [execPath, ...script, 'gateway', 'run']
  const setup = runtimeSetup({ argv, execArgv: [], execPath, env: {} }, '')
  return {
    ...{ home, userHome, suffix: suffixOf(home, userHome) },
    command: setup.restartWith ?? argv,
    variables: {
      HERMES_HOME: home,
      // A service manager knows few directories, and commands of the agent need their programs.
      PATH: [...new Set((environment['PATH'] ?? '').split(':').filter(isAbsolute))].join(':'),
      ...setup.environment,
    },
    stopSeconds: drainSeconds + stopGraceSeconds,
  }
}

/** Each home has a service of its own: '' for `~/.hermes`, the name of a profile below it, a part of the path for others. */
function suffixOf(home: string, userHome: string): string {
  const usual = join(userHome, '.hermes')
  if (home === usual) return ''
  const { rootHome, profile } = locateProfile(home)
  if (rootHome === usual && dirname(dirname(home)) === usual) return `-${profile}`
  const name = basename(home)
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
  const hash = createHash('sha256').update(home).digest('hex').slice(0, 8)
  return findProfileNameProblem(name) === undefined ? `-${name}-${hash}` : `-${hash}`
}
