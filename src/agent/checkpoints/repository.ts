/**
 * The checkpoints of one folder: a git repository of their own beside it, which never touches a repository of the user. Callers
 * hold a lock.
 */
import { lstat, mkdir, stat, writeFile } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import { undefinedIfMissing } from '../../lib/files.ts'
import { asRecord, asString, parseJson } from '../../lib/json.ts'
import { attributes, excludedPatterns } from './excluded.ts'
import type { RunGit } from './git.ts'
import { type CheckpointLimits, readFolder } from './read-folder.ts'

export interface Checkpoint {
  /** A number within its folder, as text. */
  readonly id: string
  readonly commit: string
  readonly tree: string
  /** ms since 1970. */
  readonly at: number
  /** What was about to happen: `patch`, `terminal: rm -r old`. */
  readonly reason: string
  /** The conversation; '' for none. */
  readonly session: string
}

export interface CheckpointNote {
  readonly reason: string
  readonly session: string
}

/** Resolves with why a path may not be used; undefined if it may. The path is absolute. */
export type CheckPath = (path: string) => Promise<string | undefined>

export interface DiffRequest {
  /** Undefined: all. */
  readonly file: string | undefined
  readonly maxBytes: number
  readonly mayRead: CheckPath
}

export interface Restored {
  /** Paths from the folder. */
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  /** Files and directories that the checkpoints do not keep and that have changed since: they stay as they are. The first of them. */
  readonly left: readonly string[]
  /** What undoes it. */
  readonly undo: Checkpoint | undefined
}

export interface RepositoryDeps {
  readonly git: RunGit
  readonly gitDirectory: string
  readonly workTree: string
  readonly limits: CheckpointLimits
  /** Tells for the real path of a file whether it is left out. */
  openSecretFilter(): Promise<(path: string) => boolean>
  readonly clock: () => number
}

export type Repository = ReturnType<typeof createRepository>

const refPrefix = 'refs/checkpoints/'
const maxExamined = 1_000
const maxNamed = 20

/** Methods reject with `GitError`, `FolderTooLarge`, system errors, or the reason of the signal. */
export function createRepository({ git, gitDirectory, workTree, limits, openSecretFilter, clock }: RepositoryDeps) {
  const read = (signal: AbortSignal) => readFolder(git, workTree, limits, openSecretFilter, signal)

  async function open(signal: AbortSignal): Promise<void> {
    await mkdir(join(gitDirectory, 'info'), { recursive: true, mode: 0o700 })
    const isNew = await stat(join(gitDirectory, 'HEAD')).catch(undefinedIfMissing)
    if (isNew === undefined) await git(['init', '-q', '--template='], { signal })
    await writeFile(join(gitDirectory, 'info', 'exclude'), `${excludedPatterns.join('\n')}\n`, { mode: 0o600 })
    await writeFile(join(gitDirectory, 'info', 'attributes'), attributes, { mode: 0o600 })
  }

  /** The newest first. */
  async function list(signal: AbortSignal): Promise<readonly Checkpoint[]> {
    const format = '%(refname)%00%(objectname)%00%(tree)%00%(contents:subject)'
    const listed = await git(['for-each-ref', '--sort=-refname', `--format=${format}`, refPrefix], { signal })
    return listed.split('\n').flatMap((line) => {
      const [ref = '', commit = '', tree = '', subject = ''] = line.split('\0')
      if (commit === '') return []
      const note = asRecord(parseJson(subject))
      const id = String(Number(ref.slice(refPrefix.length)))
      const at = typeof note['at'] === 'number' ? note['at'] : 0
      return [{ id, commit, tree, at, reason: asString(note['reason']), session: asString(note['session']) }]
    })
  }

  async function keep(tree: string, { reason, session }: CheckpointNote, signal: AbortSignal): Promise<Checkpoint> {
    const before = await list(signal)
    const [last] = before
    if (last !== undefined && last.tree === tree && last.session === session) return last
    const at = clock()
    const subject = JSON.stringify({ at, reason: reason.replace(/\s+/g, ' ').slice(0, 200), session })
    const commit = (await git(['commit-tree', tree, '-m', subject], { signal })).trim()
    const id = String(Number(last?.id ?? 0) + 1)
    await git(['update-ref', refPrefix + id.padStart(10, '0'), commit], { signal })
    // Other conversations keep theirs.
    const earlier = before.filter((checkpoint) => checkpoint.session === session)
    await drop(earlier.slice(limits.maxSnapshots - 1), signal)
    return { id, commit, tree, at, reason, session }
  }

  async function drop(checkpoints: readonly Checkpoint[], signal: AbortSignal): Promise<void> {
    if (checkpoints.length === 0) return
    const input = checkpoints.map(({ id }) => `delete ${refPrefix}${id.padStart(10, '0')}\n`).join('')
    await git(['update-ref', '--stdin'], { signal, input })
  }

  /** Rejects `checkpoints/refused` for the first path that may not be used. */
  async function requireAll(paths: readonly string[], may: CheckPath): Promise<void> {
    for (const path of paths) {
      const problem = await may(join(workTree, path))
      if (problem !== undefined) throw new HermesError('checkpoints/refused', problem)
    }
  }

  /** Rejects `checkpoints/refused` for a file that none of the trees contains: it was never kept, whatever it contains now. */
  async function requireKept(file: string, trees: readonly string[], signal: AbortSignal): Promise<void> {
    const path = withinFolder(workTree, file)
    for (const tree of trees)
      if ((await git(['ls-tree', '-r', '--name-only', '-z', tree, '--', path], { signal })) !== '') return
    throw new HermesError(
      'checkpoints/refused',
      `Checkpoints do not keep ${path}: .gitignore names it, it is generated, secret or too large, or it is not there.`,
    )
  }

  return {
    workTree,
    list,
    drop,
    /** Keeps the files of the folder as they are. The last checkpoint if nothing has changed since. */
    async take(note: CheckpointNote, signal: AbortSignal): Promise<Checkpoint> {
      await open(signal)
      return await keep(await read(signal), note, signal)
    },
    /**
     * What has changed since the checkpoint: statistics and a unified diff, at most `maxBytes`; '' for nothing. `mayRead` returns
     * why a path may not be read; then nothing is shown.
     */
    async diff({ commit }: Checkpoint, { file, maxBytes, mayRead }: DiffRequest, signal: AbortSignal): Promise<string> {
      await open(signal)
      await read(signal)
      const only = file === undefined ? [] : ['--', withinFolder(workTree, file)]
      const plain = ['diff', '--cached', '--no-color', '--no-ext-diff', '--no-textconv', '--no-renames']
      const names = await git([...plain, '--name-only', '-z', commit, ...only], { signal })
      await requireAll(names.split('\0').filter(Boolean), mayRead)
      const statistics = await git([...plain, '--stat=100', commit, ...only], { signal })
      const patch = await git([...plain, commit, ...only], { signal, maxBytes }).catch((error: unknown) => {
        signal.throwIfAborted()
        if (error instanceof Error && error.name === 'GitError') return '[the differences are too long to be shown]\n'
        throw error
      })
      return statistics === '' ? '' : `${statistics}\n${patch}`
    },
    /**
     * Restores the files of a checkpoint, or one of them, and removes those that were made since. What is there now is kept
     * before. `mayWrite` returns why a path may not be written; then nothing is changed.
     */
    async restore(
      target: Checkpoint,
      {
        file,
        note,
        mayWrite,
      }: {
        readonly file?: string | undefined
        readonly note: CheckpointNote
        readonly mayWrite: CheckPath
      },
      signal: AbortSignal,
    ): Promise<Restored> {
      await open(signal)
      const now = await read(signal)
      if (file !== undefined) await requireKept(file, [now, target.tree], signal)
      const only = file === undefined ? [] : ['--', withinFolder(workTree, file)]
      const output = await git(['diff-tree', '-r', '-z', '--no-renames', '--name-status', now, target.tree, ...only], {
        signal,
      })
      const words = output.split('\0')
      const changed: string[] = []
      const removed: string[] = []
      const left: string[] = []
      for (let at = 0; at + 1 < words.length; at += 2) {
        const [status, path = ''] = words.slice(at, at + 2)
        if (status === 'D') removed.push(path)
        // It is there, but was left out of the checkpoint that undoes this.
        else if (status === 'A' && (await exists(join(workTree, path)))) left.push(path)
        else changed.push(path)
      }
      await requireAll([...changed, ...removed], mayWrite)
      if (file === undefined) {
        const others = await changedWithoutBeingKept(git, workTree, { since: target.at, mayWrite }, signal)
        left.push(...others.filter((path) => !left.includes(path)))
      }
      if (changed.length + removed.length === 0) return { changed, removed, left, undo: undefined }
      const undo = await keep(now, note, signal)
      const input = [...changed, ...removed].map((path) => `${path}\0`).join('')
      const source = `--source=${target.commit}`
      await git(['restore', source, '--staged', '--worktree', '--pathspec-from-file=-', '--pathspec-file-nul'], {
        signal,
        input,
      })
      return { changed, removed, left, undo }
    },
    /** Frees the space of what no checkpoint needs. */
    async collectGarbage(signal: AbortSignal): Promise<void> {
      await git(['gc', '--quiet', '--prune=now'], { signal })
    },
  }
}

/** What is in the folder and not in the index, was changed since, and may be named to the person. */
async function changedWithoutBeingKept(
  git: RunGit,
  workTree: string,
  { since, mayWrite }: { readonly since: number; readonly mayWrite: CheckPath },
  signal: AbortSignal,
): Promise<string[]> {
  const listed = await git(['ls-files', '--others', '--directory', '-z'], { signal })
  const changed: string[] = []
  for (const path of listed.split('\0').filter(Boolean).slice(0, maxExamined)) {
    const stats = await lstat(join(workTree, path)).catch(undefinedIfMissing)
    const hasChanged = stats !== undefined && Math.max(stats.mtimeMs, stats.ctimeMs) > since
    if (hasChanged && (await mayWrite(join(workTree, path))) === undefined) changed.push(path)
    if (changed.length === maxNamed) break
  }
  return changed
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(undefinedIfMissing)) !== undefined
}

/** The path from the folder. Throws `checkpoints/refused` for one outside. */
function withinFolder(folder: string, file: string): string {
  const path = relative(folder, resolve(folder, file))
  if (path !== '' && path !== '..' && !path.startsWith('../') && !isAbsolute(path)) return path
  throw new HermesError('checkpoints/refused', `${file} is not a file in ${folder}.`)
}
