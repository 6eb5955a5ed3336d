/**
 * Tries the sandbox in which the agent would run commands.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runsOnThisMachine } from '../../agent/environments/kinds.ts'
import { detectSandbox } from '../../agent/sandbox/detect-sandbox.ts'
import { silentLog } from '../../lib/log.ts'
import { type Check, note, ok, problem } from './check-result.ts'

/** Uses a temporary directory in place of the home, which may not exist yet and is not changed. */
export const checkSandbox: Check = async ({ settings: { config }, context: { home } }) => {
  const { terminal } = config.current()
  if (!runsOnThisMachine(terminal.backend)) return []
  const setting = terminal.backend === 'bwrap' ? 'bwrap' : terminal.sandbox
  const sharesNetwork = terminal.sandbox_network === 'on' || terminal.sandbox_network === true
  if (setting === 'off') {
    const advice =
      'Only owners may run commands and write files. terminal.backend: bwrap (where bubblewrap is installed) or terminal.sandbox: auto protects the machine.'
    if (!sharesNetwork) {
      const text = 'terminal.sandbox_network has no effect, because terminal.sandbox is off'
      return [problem('Sandbox', text, 'Set terminal.sandbox: auto, or terminal.sandbox_network: on.')]
    }
    return [note('Sandbox', 'commands of the agent run without a sandbox (terminal.sandbox: off)', advice)]
  }
  const { values } = config.environment()
  const directory = await mkdtemp(join(tmpdir(), 'hermes-doctor-'))
  try {
    const cwd = join(directory, 'workspace')
    await mkdir(cwd)
    const { kind, reason } = await detectSandbox({
      setting,
      home: directory,
      userHome: values['HOME'] || home.root,
      cwd,
      read: terminal.sandbox_read,
      write: terminal.sandbox_write,
      searchPath: values['PATH'] ?? '',
      sharesNetwork,
      temporaryDirectory: join(directory, 'tmp'),
      maxProcesses: terminal.max_processes,
      maxMemoryMb: terminal.max_memory_mb,
      platform: process.platform,
      log: silentLog,
    })
    if (kind !== 'none' && kind !== 'bwrap' && Array.isArray(terminal.sandbox_network)) {
      const text = `commands run in ${kind}, which cannot admit single hosts: they have no network`
      return [note('Sandbox', text, 'Only bubblewrap (Linux) supports a list in terminal.sandbox_network.')]
    }
    if (kind === 'bwrap' && terminal.backend === 'local') {
      const text = 'commands of the agent run in bwrap; terminal.backend: bwrap refuses to run them without it'
      return [ok('Sandbox', text)]
    }
    if (kind !== 'none') return [ok('Sandbox', `commands of the agent run in ${kind}`)]
    if (terminal.backend === 'bwrap') {
      const text = `terminal.backend is bwrap, which does not work, so no command runs: ${reason}`
      return [
        problem(
          'Sandbox',
          text,
          'Install bubblewrap (apt-get install bubblewrap), or choose another terminal.backend.',
        ),
      ]
    }
    const text = `none works, so only owners may run commands and write files: ${reason}`
    const advice = 'Install bubblewrap (apt-get install bubblewrap) and restart the gateway.'
    return [terminal.sandbox === 'auto' ? note('Sandbox', text, advice) : problem('Sandbox', text, advice)]
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
