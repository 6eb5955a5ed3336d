/**
 * Checkpoints in turns, for people and for commands: which call takes one, and what `/rollback` shows and restores. Loaded with the
 * first use.
 */
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type Checkpoints, createCheckpoints, type FolderCheckpoint } from '../../agent/checkpoints/checkpoints.ts'
import { commandChangesFiles } from '../../agent/checkpoints/command-changes-files.ts'
import type { CheckpointsConfig } from '../../agent/checkpoints/config.ts'
import type { CheckPath } from '../../agent/checkpoints/repository.ts'
import type { Environment } from '../../agent/environments/environment.ts'
import { runsOnThisMachine } from '../../agent/environments/kinds.ts'
import { permitsTool } from '../../agent/loop/role-ceiling.ts'
import { privatePaths } from '../../agent/sandbox/hidden-paths.ts'
import type { Sandbox } from '../../agent/sandbox/sandbox.ts'
import type { UpcomingChange } from '../../agent/tools/tool.ts'
import type { CheckpointServices } from '../../commands/checkpoint.ts'
import type { Environment as ConfigEnvironment } from '../../config/environment.ts'
import { HermesError } from '../../lib/errors.ts'
import { isWithin } from '../../lib/files.ts'
import type { Authority } from '../../message/authority.ts'
import type { Machine } from './working-directory.ts'

interface CheckpointMachine extends Pick<Machine, 'home' | 'log'> {
  readonly settings: () => CheckpointsConfig
  readonly environment: () => Pick<ConfigEnvironment, 'values'>
}

/** @param sandbox undefined, also as its result: none is configured */
export function openCheckpoints(
  { home, settings, environment, log }: CheckpointMachine,
  sandbox?: () => Promise<Pick<Sandbox, 'accessOf'> | undefined>,
): Checkpoints {
  return createCheckpoints({
    async openSecretFilter() {
      const view = await sandbox?.()
      const userHome = environment().values['HOME'] ?? home.root
      const real = await realpath(userHome).catch(() => userHome)
      const privateFolders = privatePaths.map((name) => join(real, name))
      return (path) => view?.accessOf(path) === 'hidden' || privateFolders.some((folder) => isWithin(path, folder))
    },
    directory: home.checkpoints,
    home: home.root,
    workspace: home.workspace,
    userHome: environment().values['HOME'] ?? home.root,
    searchPath: () => environment().values['PATH'] ?? '',
    settings: () => settings().checkpoints,
    clock: Date.now,
    log,
  })
}

export interface ChangingCall {
  readonly environment: Pick<Environment, 'cwd' | 'files'>
  readonly isOwner: boolean
  readonly turn: string
  /** '' for none. */
  readonly session: string
  /** The path on this machine of a path in the environment. */
  toHostPath(path: string): string
  redact(text: string): string
}

/** Takes a checkpoint before a call changes files. Rejects only with the reason of the signal. */
export async function checkpointBefore(
  checkpoints: Pick<Checkpoints, 'before'>,
  { tool, paths, command, areDirectories = command !== undefined }: UpcomingChange,
  { environment, isOwner, turn, session, toHostPath, redact }: ChangingCall,
  signal: AbortSignal,
): Promise<void> {
  if (command !== undefined && !commandChangesFiles(command)) return
  const reason = command === undefined ? tool : `${tool}: ${redact(command)}`
  const hostPaths = paths.map(toHostPath)
  const cwd = toHostPath(environment.cwd)
  // Refuses the folders of keys and credentials too, and what the sandbox hides: a diff would show them.
  const mayWrite = async (folder: string) => {
    const file = await environment.files.check(folder, 'write', { isOwner, signal })
    return file.ok || file.code === 'is_directory'
  }
  await checkpoints.before({ reason, session, turn, paths: hostPaths, areDirectories, cwd, mayWrite }, signal)
}

/** What `/rollback` may do. Methods reject `checkpoints/...`. */
export function createCheckpointServices(
  checkpoints: Checkpoints,
  settings: () => CheckpointsConfig & { readonly terminal: { readonly backend: string } },
  {
    openShell,
    toolListOf,
  }: {
    readonly openShell: () => Promise<{ readonly environment: Pick<Environment, 'files'> }>
    readonly toolListOf: (authority: Authority) => readonly string[]
  },
  texts: Pick<CheckpointServices, 'redact' | 'withhold'>,
): CheckpointServices {
  const find = async (session: string, number: number, signal: AbortSignal): Promise<FolderCheckpoint> => {
    const checkpoint = (await checkpoints.list({ session }, signal))[number - 1]
    if (checkpoint === undefined) throw new HermesError('checkpoints/unknown', `(number ${number})`)
    return checkpoint
  }
  const checkOf = async (authority: Authority, intent: 'read' | 'write', signal: AbortSignal): Promise<CheckPath> => {
    const { environment } = await openShell()
    const access = { isOwner: authority.role === 'owner', signal }
    return async (path) => {
      const allowed = await environment.files.check(path, intent, access)
      return allowed.ok ? undefined : allowed.reason
    }
  }
  return {
    unavailable(authority) {
      const { backend } = settings().terminal
      if (!runsOnThisMachine(backend))
        return `Checkpoints are only taken on this machine; commands and files of the agent are elsewhere (\`terminal.backend: ${backend}\`).`
      const tools = toolListOf(authority)
      const changing = [
        { name: 'patch', toolset: 'file', mode: 'effect' },
        { name: 'terminal', toolset: 'terminal', mode: 'effect' },
      ] as const
      if (authority.role === 'owner' || changing.some((tool) => permitsTool(tools, tool))) return ''
      return 'You may not change files here, so that you may not restore them either.'
    },
    isEnabled: () => settings().checkpoints.enabled,
    list: ({ sessionKey, signal }) => checkpoints.list({ session: sessionKey }, signal),
    async diff({ sessionKey, authority, signal }, number, file) {
      const checkpoint = await find(sessionKey, number, signal)
      return await checkpoints.diff(checkpoint, { file, mayRead: await checkOf(authority, 'read', signal) }, signal)
    },
    async restore({ sessionKey, authority, signal }, number, file) {
      const checkpoint = await find(sessionKey, number, signal)
      const mayWrite = await checkOf(authority, 'write', signal)
      const restored = await checkpoints.restore(checkpoint, { file, session: sessionKey, mayWrite }, signal)
      return { ...restored, folder: checkpoint.folder }
    },
    ...texts,
  }
}
