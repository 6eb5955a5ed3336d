/**
 * Opens the configured sandbox. Imported when the first command or file tool needs it.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installCliShim } from '../../agent/environments/cli-shim.ts'
import { detectSandboxes, proxyPort } from '../../agent/sandbox/detect-sandbox.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import type { Skills } from '../../agent/skills/skills.ts'
import { ensureDirectory, prepareProcessFolder, writeFileAtomic } from '../../lib/files.ts'
import type { Machine } from './working-directory.ts'

/** Opens the proxy for listed hosts. Its socket lies in this directory. */
type OpenProxy = (directory: string) => Promise<unknown>

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
export async function openSandbox(...request: Parameters<typeof openSandboxes>): Promise<Sandbox | undefined> {
  const [{ home }] = request
  return (await openSandboxes(...request))?.(join(home.cache, 'sandbox', 'tmp'))
}

/**
 * Works like `openSandbox`, for several programs, each with a directory of its own as `/tmp`. The folders and the
 * programs of the sandbox are prepared once, and the machine is tried once.
 * @param cwd the working directory of commands
 * @param openSkills absent where there are none
 */
export async function openSandboxes(
  machine: Machine,
  cwd: string,
  openProxy: OpenProxy,
  openSkills?: () => Promise<Pick<Skills, 'folders'>>,
): Promise<((temporaryDirectory: string) => Sandbox) | undefined> {
  const { home, settings, environment, log } = machine
  const { terminal } = settings()
  prepareProcessFolder(home, cwd)
  const setting = terminal.backend === 'bwrap' ? 'bwrap' : terminal.sandbox
  if (setting === 'off') return undefined
  const binDirectory = join(home.cache, 'sandbox', 'bin')
  const temporaryDirectory = join(home.cache, 'sandbox', 'tmp')
  ensureDirectory(home.skills)
  await installPrograms(binDirectory)
  const forwarder = await openForwarder(machine, openProxy, binDirectory)
  const { values } = environment()
  const sandboxes = await detectSandboxes({
    setting,
    home: home.root,
    userHome: values['HOME'] || home.root,
    cwd,
    // Skills contain scripts for commands.
    read: [...terminal.sandbox_read, home.skills],
    skills: (await openSkills?.())?.folders() ?? [],
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
  { settings, log }: Machine,
  openProxy: OpenProxy,
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
