/**
 * Opens the configured sandbox. Imported when the first command or file tool needs it.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentConfig } from '../agent/config.ts'
import { detectSandbox } from '../agent/sandbox/detect-sandbox.ts'
import type { Sandbox } from '../agent/sandbox/sandbox.ts'
import type { Environment } from '../config/environment.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'

export interface OpenSandboxDeps {
  readonly home: HomeLayout
  readonly settings: () => Pick<AgentConfig, 'terminal'>
  readonly environment: () => Environment
  /** The working directory of commands. */
  cwd(): string
  readonly log: Logger
}

/**
 * The `hermes` of commands in the sandbox. It has no access to the gateway: nothing that the agent runs may accept, enable,
 * approve or show a token in the name of the owner.
 */
const restrictedCommand = `#!/bin/sh
case "$1 $2" in
  'cron list') echo 'There are no scheduled jobs: this version of the gateway has no schedules.'; exit 0 ;;
esac
echo "The command hermes $* is not available to the agent. Ask the person whose request this is to run it." >&2
exit 1
`

async function installRestrictedCommand(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(join(directory, 'hermes'), restrictedCommand)
  await chmod(join(directory, 'hermes'), 0o755)
}

/** Undefined when no sandbox is wanted. Creates the working directory if it belongs to the gateway. Rejects with a system error when the home cannot be written. */
export async function openSandbox(deps: OpenSandboxDeps): Promise<Sandbox | undefined> {
  const { home, environment, log } = deps
  const { terminal } = deps.settings()
  const cwd = deps.cwd()
  if (terminal.sandbox === 'off') return undefined
  if (cwd === home.workspace) await mkdir(cwd, { recursive: true, mode: 0o700 })
  const binDirectory = join(home.cache, 'sandbox', 'bin')
  await installRestrictedCommand(binDirectory)
  const { values } = environment()
  const sandbox = await detectSandbox({
    setting: terminal.sandbox,
    home: home.root,
    userHome: values['HOME'] || home.root,
    cwd,
    read: terminal.sandbox_read,
    write: terminal.sandbox_write,
    searchPath: values['PATH'] ?? '',
    sharesNetwork: terminal.sandbox_network === 'on' || terminal.sandbox_network === true,
    binDirectory,
    temporaryDirectory: join(home.cache, 'sandbox', 'tmp'),
    maxProcesses: terminal.max_processes,
    maxMemoryMb: terminal.max_memory_mb,
    platform: process.platform,
    log,
  })
  const { kind, reason } = sandbox
  if (kind === 'none') log.error({ event: 'sandbox.missing', reason }, 'no sandbox works on this machine')
  else log.info({ event: 'sandbox.ready', kind }, 'commands run in a sandbox')
  return sandbox
}
