/**
 * Opens the configured sandbox. Imported when the first command or file tool needs it.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentConfig } from '../../agent/config.ts'
import { installCliShim } from '../../agent/environments/cli-shim.ts'
import { detectSandboxes, proxyPort } from '../../agent/sandbox/detect-sandbox.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import type { Skills } from '../../agent/skills/skills.ts'
import type { Environment } from '../../config/environment.ts'
import { ensureDirectory, writeFileAtomic } from '../../lib/files.ts'
import { type HomeLayout, prepareProcessFolder } from '../../lib/home.ts'
import type { Logger } from '../../lib/log.ts'

export interface OpenSandboxDeps {
  readonly home: HomeLayout
  readonly settings: () => Pick<AgentConfig, 'terminal'>
  readonly environment: () => Environment
  /** The working directory of commands. */
  cwd(): string
  /** Opens the proxy for listed hosts. Its socket lies in this directory. */
  openProxy(directory: string): Promise<unknown>
  /** Absent where there are none. */
  skills?(): Promise<Pick<Skills, 'folders'>>
  readonly log: Logger
}

/** Where the programs lie that run in the sandbox. */
const insideDirectory = new URL('../../agent/sandbox/inside/', import.meta.url)

/**
 * Copied, because the sandbox may hide the directory of this program. Several processes may do it at once, so each file is
 * replaced as a whole. Rejects with a system error.
 */
export async function installPrograms(directory: string): Promise<void> {
  await installCliShim(directory, [process.execPath, join(directory, 'hermes.mjs')])
  for (const name of ['hermes.mjs', 'forwarder.mjs'])
    writeFileAtomic(join(directory, name), await readFile(new URL(name, insideDirectory)), 0o644)
}

/** For the commands of the agent. Undefined when no sandbox is wanted. Rejects with a system error when the home cannot be written. */
export async function openSandbox(deps: OpenSandboxDeps): Promise<Sandbox | undefined> {
  return (await openSandboxes(deps))?.(join(deps.home.cache, 'sandbox', 'tmp'))
}

/**
 * Works like `openSandbox`, for several programs, each with a directory of its own as `/tmp`. The folders and the
 * programs of the sandbox are prepared once, and the machine is tried once.
 */
export async function openSandboxes(
  deps: OpenSandboxDeps,
): Promise<((temporaryDirectory: string) => Sandbox) | undefined> {
  const { home, environment, log } = deps
  const { terminal } = deps.settings()
  const cwd = deps.cwd()
  prepareProcessFolder(home, cwd)
  const setting = terminal.backend === 'bwrap' ? 'bwrap' : terminal.sandbox
  if (setting === 'off') return undefined
  const binDirectory = join(home.cache, 'sandbox', 'bin')
  const temporaryDirectory = join(home.cache, 'sandbox', 'tmp')
  ensureDirectory(home.skills)
  await installPrograms(binDirectory)
  const forwarder = await openForwarder(deps, binDirectory)
  const { values } = environment()
  const sandboxes = await detectSandboxes({
    setting,
    home: home.root,
    userHome: values['HOME'] || home.root,
    cwd,
    // Skills contain scripts for commands.
    read: [...terminal.sandbox_read, home.skills],
    skills: (await deps.skills?.())?.folders() ?? [],
    write: terminal.sandbox_write,
    searchPath: values['PATH'] ?? '',
    sharesNetwork: terminal.sandbox_network === 'on' || terminal.sandbox_network === true,
    forwarder,
    binDirectory,
    temporaryDirectory,
    maxProcesses: terminal.max_processes,
    maxMemoryMb: terminal.max_memory_mb,
    platform: process.platform,
    log,
  })
  const { kind, reason } = sandboxes(temporaryDirectory)
  if (kind === 'none') log.error({ event: 'sandbox.missing', reason }, 'no sandbox works on this machine')
  else log.info({ event: 'sandbox.ready', kind }, 'commands run in a sandbox')
  return sandboxes
}

/** Undefined where commands share the network or have none, also because the proxy could not listen. */
async function openForwarder(
  { settings, openProxy, log }: OpenSandboxDeps,
  directory: string,
): Promise<readonly string[] | undefined> {
  const { sandbox_network } = settings().terminal
  if (!Array.isArray(sandbox_network) || process.platform !== 'linux') return undefined
  try {
    await openProxy(directory)
  } catch (error) {
    log.error({ event: 'sandbox.no_proxy', err: error }, 'commands reach no host: their proxy could not be opened')
    return undefined
  }
  return [process.execPath, join(directory, 'forwarder.mjs'), String(proxyPort)]
}
