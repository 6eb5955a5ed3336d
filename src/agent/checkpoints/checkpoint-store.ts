/**
 * The repositories of checkpoints on the disk, one for each folder, by the hash of its path.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import { undefinedIfMissing } from '../../lib/files.ts'
import { findProgram } from '../../lib/find-program.ts'
import { asRecord, asString, parseJson } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'
import type { CheckpointsConfig } from './config.ts'
import type { FolderRules } from './folder.ts'
import { createGit } from './git.ts'
import { FolderTooLarge } from './read-folder.ts'
import { type Checkpoint, createRepository, type Repository } from './repository.ts'

export interface CheckpointsDeps extends FolderRules {
  /** The directory of all checkpoints. */
  readonly directory: string
  /** The PATH for git. */
  searchPath(): string
  /** Tells for the real path of a file whether it is never kept, because it holds secrets. Called for each checkpoint. */
  openSecretFilter(): Promise<(path: string) => boolean>
  readonly settings: () => CheckpointsConfig['checkpoints']
  readonly clock: () => number
  readonly log: Logger
}

export type CheckpointStore = ReturnType<typeof createCheckpointStore>

const maxFiles = 50_000
const megabyte = 1024 * 1024

export function createCheckpointStore(deps: CheckpointsDeps) {
  const { directory, searchPath, openSecretFilter, settings, clock } = deps
  const gitProgram = () => findProgram('git', searchPath())
  /** Where the checkpoints of a folder are. */
  const directoryOf = (folder: string) =>
    join(directory, createHash('sha256').update(folder).digest('hex').slice(0, 16))

  function repositoryOf(folder: string): Repository {
    const program = gitProgram()
    if (program === undefined) throw new HermesError('checkpoints/unavailable')
    const { max_snapshots, max_file_size_mb, max_total_size_mb } = settings()
    const gitDirectory = join(directoryOf(folder), 'git')
    const git = createGit({ program, searchPath: searchPath(), gitDirectory, workTree: folder })
    const limits = {
      maxSnapshots: max_snapshots,
      maxFileBytes: max_file_size_mb * megabyte,
      maxFiles,
      maxBytes: max_total_size_mb === 0 ? Number.POSITIVE_INFINITY : max_total_size_mb * megabyte,
    }
    return createRepository({ git, gitDirectory, workTree: folder, limits, openSecretFilter, clock })
  }

  /** Work on the checkpoints of one folder, which exists. */
  async function withRepository<Value>(
    folder: string,
    signal: AbortSignal,
    work: (repository: Repository) => Promise<Value>,
  ): Promise<Value> {
    const repository = repositoryOf(folder)
    const ofFolder = directoryOf(folder)
    await mkdir(ofFolder, { recursive: true, mode: 0o700 })
    await writeFile(join(ofFolder, 'folder.json'), JSON.stringify({ folder }), { mode: 0o600 })
    return await withFileLock(join(ofFolder, 'lock'), () => work(repository), signal)
  }

  async function folders(): Promise<readonly string[]> {
    const names = await readdir(directory).catch(undefinedIfMissing)
    const read = (names ?? []).map(async (name) => {
      const text = await readFile(join(directory, name, 'folder.json'), 'utf8').catch(undefinedIfMissing)
      return asString(asRecord(parseJson(text ?? ''))['folder'])
    })
    return (await Promise.all(read)).filter((folder) => folder !== '').sort()
  }

  /** Reads without the lock: git replaces refs atomically. */
  async function listFolder(folder: string, signal: AbortSignal): Promise<readonly Checkpoint[]> {
    const stats = await stat(join(directoryOf(folder), 'git', 'HEAD')).catch(undefinedIfMissing)
    if (stats === undefined || !(await isDirectory(folder))) return []
    return await orFailed(() => repositoryOf(folder).list(signal))
  }

  return { gitProgram, directoryOf, withRepository, folders, listFolder }
}

/** Rejects `checkpoints/failed` for what git says. */
export async function orFailed<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof FolderTooLarge || (error instanceof Error && error.name === 'GitError'))
      throw new HermesError('checkpoints/failed', `(${error.message})`, { cause: error })
    throw error
  }
}

export async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(undefinedIfMissing))?.isDirectory() === true
}

/** Returns the size of the files below a directory, in bytes. */
export async function sizeOf(directory: string): Promise<number> {
  const entries = (await readdir(directory, { recursive: true, withFileTypes: true }).catch(undefinedIfMissing)) ?? []
  let bytes = 0
  for (const entry of entries) {
    if (!entry.isFile()) continue
    bytes += (await stat(join(entry.parentPath, entry.name)).catch(undefinedIfMissing))?.size ?? 0
  }
  return bytes
}
