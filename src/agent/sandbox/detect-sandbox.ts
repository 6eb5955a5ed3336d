/**
 * Finds the sandbox of this machine: the first kind that passes a try. A kind that is installed need not work, because
 * containers and some distributions do not allow user namespaces.
 */
import { execFile } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findProgram } from '../../lib/find-program.ts'
import type { Logger } from '../../lib/log.ts'
import { bubblewrapCommand } from './bubblewrap.ts'
import { landlockCommand, landlockScopes } from './landlock.ts'
import {
  accessOf,
  currentView,
  hiddenReason,
  type Sandbox,
  type SandboxKind,
  type SandboxSetting,
  type SandboxView,
  toHostPath,
  type WrapOptions,
} from './sandbox.ts'
import { seatbeltCommand } from './seatbelt.ts'
import { unixSocketFilter } from './socket-filter.ts'
import { computeSandboxView, type ViewOptions } from './view.ts'

export interface DetectSandboxOptions extends Omit<ViewOptions, 'privateTmp'> {
  readonly setting: Exclude<SandboxSetting, 'off'>
  /** The directory that commands see as `/tmp`. Created if it is missing. */
  readonly temporaryDirectory: string
  /** False: commands reach no network. */
  readonly sharesNetwork: boolean
  /**
   * A command line that offers a proxy at `proxyPort` in a network of its own, and then runs the command line that follows
   * (bubblewrap only). With it `sharesNetwork` is false.
   */
  readonly forwarder?: readonly string[] | undefined
  readonly maxProcesses: number
  readonly maxMemoryMb: number
  readonly platform: NodeJS.Platform
  readonly log: Logger
}

type Kind = Exclude<SandboxKind, 'none'>

interface Candidate {
  readonly kind: Kind
  readonly programName: string
  readonly platform: NodeJS.Platform
}

const candidates: readonly Candidate[] = [
  { kind: 'bwrap', programName: 'bwrap', platform: 'linux' },
  { kind: 'seatbelt', programName: 'sandbox-exec', platform: 'darwin' },
  { kind: 'landlock', programName: 'perl', platform: 'linux' },
]

/** Searched before the PATH: only root can place a program there. */
const systemDirectories = ['/usr/bin', '/bin', '/usr/local/bin']

/** Caches in the home directory of the user are read-only. */
const privateVariables = { TMPDIR: '/tmp', XDG_CACHE_HOME: '/tmp/.cache', npm_config_cache: '/tmp/.npm' }

/** Where a hidden file exists but cannot be opened, these programs would end instead of going on without it. */
function variablesForHidden(view: SandboxView, userHome: string): Readonly<Record<string, string>> {
  const files = { GIT_CONFIG_GLOBAL: '.gitconfig', npm_config_userconfig: '.npmrc' }
  const hidden = Object.entries(files).filter(([, name]) => accessOf(view, join(userHome, name)) === 'hidden')
  return Object.fromEntries(hidden.map(([variable]) => [variable, '/dev/null']))
}

/** The port on which commands find the proxy in their own network. */
export const proxyPort = 3128
const proxyAddress = `http://127.0.0.1:${proxyPort}`
const ownAddresses = 'localhost,127.0.0.1,::1'
/** Programs read them in both cases; Node reads them since 24 if it is told to. */
const proxyVariables = {
  ...{ HTTP_PROXY: proxyAddress, HTTPS_PROXY: proxyAddress, ALL_PROXY: proxyAddress, NO_PROXY: ownAddresses },
  ...{ http_proxy: proxyAddress, https_proxy: proxyAddress, all_proxy: proxyAddress, no_proxy: ownAddresses },
  NODE_USE_ENV_PROXY: '1',
}

/** Generous: a busy machine must not lose its sandbox until the next start. */
const tryTimeoutMs = 20_000
const maxTemporaryAgeMs = 7 * 86_400_000

/** Never rejects: what went wrong is in `reason` of the kind `none`. */
export async function detectSandbox(options: DetectSandboxOptions): Promise<Sandbox> {
  return (await detectSandboxes(options))(options.temporaryDirectory)
}

/**
 * Works like `detectSandbox`, for several sandboxes that differ in what commands see as `/tmp`. The machine is tried
 * once, with the directory of the options. The result creates the directory that it is called with if it is missing.
 */
export async function detectSandboxes(options: DetectSandboxOptions): Promise<(temporaryDirectory: string) => Sandbox> {
  const { setting, platform, log } = options
  prepareTemporaryDirectory(options.temporaryDirectory, log)
  const failures: string[] = []
  for (const candidate of candidates) {
    if (setting !== 'auto' && setting !== candidate.kind) continue
    if (platform !== candidate.platform) continue
    const result = await tryCandidate(candidate, options)
    if (typeof result !== 'string')
      return (temporaryDirectory) => {
        prepareTemporaryDirectory(temporaryDirectory, log)
        return createSandbox(candidate.kind, result.program, { ...options, temporaryDirectory })
      }
    failures.push(`${candidate.kind}: ${result}`)
  }
  const tried = failures.length === 0 ? `${setting} does not exist on ${platform}` : failures.join('; ')
  const view = computeSandboxView({ ...options, privateTmp: undefined })
  const none: Sandbox = {
    kind: 'none',
    reason: `${tried}. Install bubblewrap (apt-get install bubblewrap), or set terminal.sandbox: off to run commands without a sandbox`,
    view,
    wrap: (argv) => argv,
    variables: {},
    toHostPath: (path) => path,
    accessOf: (path) => accessOf(view, path),
    hiddenReason: (path) => hiddenReason(view, path),
  }
  return () => none
}

/** The program of the sandbox, or why it does not work. */
async function tryCandidate(
  { kind, programName }: Candidate,
  options: DetectSandboxOptions,
): Promise<{ readonly program: string } | string> {
  const program = findSystemProgram(programName, options)
  if (program === undefined) return `${programName} is not installed`
  if (kind === 'landlock' && !options.sharesNetwork) return 'it cannot restrict the network'
  if (kind === 'landlock' && unixSocketFilter(process.arch) === undefined)
    return `it cannot restrict Unix sockets on ${process.arch}`
  const failure = await tryOut(createSandbox(kind, program, options), options.temporaryDirectory)
  if (failure === undefined) return { program }
  options.log.info({ event: 'sandbox.unusable', kind, reason: failure }, 'a kind of sandbox does not work here')
  return failure
}

function createSandbox(kind: Kind, program: string, options: DetectSandboxOptions): Sandbox {
  const { sharesNetwork, temporaryDirectory, maxProcesses, maxMemoryMb } = options
  const privateTmp = kind === 'bwrap' ? temporaryDirectory : undefined
  const view = computeSandboxView({ ...options, privateTmp })
  const isRoot = process.getuid?.() === 0
  // A network of its own has abstract sockets of its own.
  const perl = kind === 'bwrap' && sharesNetwork && !isSetuid(program) ? findSystemProgram('perl', options) : undefined
  const scopes = perl === undefined ? [] : landlockScopes(perl)
  const wrapWith = {
    bwrap(argv: readonly string[], more: WrapOptions) {
      return [...scopes, ...bubblewrapCommand(currentView(view), { program, sharesNetwork, isRoot }, argv, more)]
    },
    seatbelt: (argv: readonly string[], more: WrapOptions) =>
      seatbeltCommand(currentView(view), { program, sharesNetwork, socketDirectory: options.binDirectory }, argv, more),
    landlock: (argv: readonly string[], more: WrapOptions) => landlockCommand(currentView(view), program, argv, more),
  }
  // The number of processes counts for the whole user where there is no namespace of its own.
  const limits = [
    ...(kind === 'bwrap' ? [`ulimit -u ${maxProcesses} 2>/dev/null || ulimit -p ${maxProcesses}`] : []),
    `ulimit -d ${maxMemoryMb * 1_024}`,
  ].join('; ')
  const forwarder = kind === 'bwrap' ? options.forwarder : undefined
  return {
    kind,
    reason: '',
    view,
    wrap(argv, more) {
      const limited = ['/bin/sh', '-c', `${limits}; exec "$0" "$@"`, ...argv]
      const proxied = forwarder === undefined || more.usesProxy !== true ? limited : [...forwarder, ...limited]
      return wrapWith[kind](proxied, more)
    },
    toHostPath: (path) => toHostPath(view, path),
    accessOf: (path) => accessOf(view, path),
    hiddenReason: (path) => hiddenReason(view, path),
    binDirectory: options.binDirectory,
    variables: {
      ...(kind === 'bwrap' ? privateVariables : variablesForHidden(view, options.userHome)),
      ...(forwarder && proxyVariables),
    },
  }
}

function findSystemProgram(name: string, { searchPath }: DetectSandboxOptions): string | undefined {
  return findProgram(name, systemDirectories.concat(searchPath).join(delimiter))
}

/** With `setuid`, a program needs privileges that Landlock makes it give up. */
const isSetuid = (program: string) => (statSync(program).mode & 0o4000) !== 0

/** Undefined when a command inside runs and cannot read the home of the gateway. */
async function tryOut(sandbox: Sandbox, hiddenPath: string): Promise<string | undefined> {
  const [program = '', ...args] = sandbox.wrap(
    // Landlock lets a command ask whether a path exists, but not open it.
    ['/bin/sh', '-c', 'if (exec 3< "$0") 2> /dev/null; then echo open; else echo closed; fi', hiddenPath],
    { cwd: '/' },
  )
  return new Promise((resolve) => {
    execFile(
      program,
      args,
      { timeout: tryTimeoutMs, env: { PATH: '/usr/local/bin:/usr/bin:/bin' } },
      (error, stdout, stderr) => {
        if (stdout.trim() === 'closed') resolve(undefined)
        else if (stdout.trim() === 'open') resolve('the home of the gateway stays visible')
        else resolve(stderr.trim().slice(0, 300) || (error?.message ?? 'no output').slice(0, 300))
      },
    )
  })
}

/** Removes what is old. Commands create what they want here, also links in circles and directories that cannot be removed. */
function prepareTemporaryDirectory(directory: string, log: Logger): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    try {
      const stats = lstatSync(path, { throwIfNoEntry: false })
      if (stats !== undefined && Date.now() - stats.mtimeMs <= maxTemporaryAgeMs) continue
      rmSync(path, { recursive: true, force: true })
    } catch (error) {
      log.warn({ event: 'sandbox.tmp_kept', path, err: error }, 'an old file of commands cannot be removed')
    }
  }
}
