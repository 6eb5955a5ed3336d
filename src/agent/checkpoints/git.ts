/**
 * Runs git on a repository of checkpoints: without the configuration of the user, hooks, questions and the network.
 */
import { spawn } from 'node:child_process'
import { signalProcessGroup } from '../../lib/process-group.ts'
import { onAbort } from '../../lib/timers.ts'

export interface GitOptions {
  readonly signal: AbortSignal
  readonly input?: string
  /** Longer output is an error. Default: 64 MB. */
  readonly maxBytes?: number
}

/** Resolves with stdout. Rejects with `GitError`, or with the reason of the signal. */
export type RunGit = (args: readonly string[], options: GitOptions) => Promise<string>

export class GitError extends Error {
  override readonly name = 'GitError'
}

export interface GitRepository {
  /** Absolute path of the program. */
  readonly program: string
  readonly searchPath: string
  readonly gitDirectory: string
  readonly workTree: string
}

/** What a file or a setting of the user could change. */
const settings = [
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.untrackedCache=false', 'core.excludesFile=/dev/null'],
  ...['core.attributesFile=/dev/null', 'core.autocrlf=false', 'core.quotePath=false', 'core.bare=false'],
  ...[
    'commit.gpgSign=false',
    'gc.auto=0',
    'maintenance.auto=false',
    'protocol.allow=never',
    'advice.detachedHead=false',
  ],
  // The modes of its own files, whatever the umask is.
  'core.sharedRepository=0600',
  ...['diff.external=', 'core.pager=cat', 'safe.directory=*', 'core.logAllRefUpdates=false'],
]

export function createGit({ program, searchPath, gitDirectory, workTree }: GitRepository): RunGit {
  const env = {
    PATH: searchPath,
    HOME: gitDirectory,
    LC_ALL: 'C.UTF-8',
    GIT_DIR: gitDirectory,
    GIT_WORK_TREE: workTree,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_AUTHOR_NAME: 'hermes-gateway',
    GIT_AUTHOR_EMAIL: 'checkpoint@localhost',
    GIT_COMMITTER_NAME: 'hermes-gateway',
    GIT_COMMITTER_EMAIL: 'checkpoint@localhost',
  }
  const options = settings.flatMap((setting) => ['-c', setting])
  return (args, request) => run(program, [...options, ...args], { cwd: workTree, env }, request)
}

async function run(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  { signal, input, maxBytes = 64 * 1024 * 1024 }: GitOptions,
): Promise<string> {
  signal.throwIfAborted()
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const kill = () => {
    if (child.pid !== undefined) signalProcessGroup(child.pid, 'SIGKILL')
  }
  const stopListening = onAbort(signal, kill)
  const chunks: Buffer[] = []
  let bytes = 0
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) kill()
    else chunks.push(chunk)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < 2_000) said += text
  })
  // git may end before it has read everything.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input ?? '')
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    signal.throwIfAborted()
    if (code !== 0 || bytes > maxBytes)
      throw new GitError(
        `git ${nameOf(args)} failed: ${bytes > maxBytes ? 'too much output' : said.trim().slice(0, 500)}`,
      )
    return Buffer.concat(chunks).toString('utf8')
  } finally {
    stopListening()
  }
}

function nameOf(args: readonly string[]): string {
  return args.find((word, index) => word !== '-c' && args[index - 1] !== '-c') ?? ''
}
