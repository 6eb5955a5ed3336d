/**
 * The files of this machine, as the file guard and the sandbox let the agent see them.
 */
import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { systemCode } from '../../lib/errors.ts'
import { findProgram } from '../../lib/find-program.ts'
import type { FileGuard } from '../command-policy/file-guard.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { isDirectory, readFileBytes, removeFile, writeFileAtomic } from '../support/files.ts'
import type {
  DirectoryEntry,
  EnvironmentFiles,
  FileAccess,
  FileRefusal,
  FileSearchRequest,
  FileSearchResult,
} from './files.ts'
import { searchWithNode } from './search/node-search.ts'
import { searchWithRipgrep } from './search/ripgrep.ts'
import type { SearchRequest, SearchResult } from './search/search-request.ts'

export interface LocalFilesOptions {
  readonly fileGuard: FileGuard
  /** The PATH for helper programs such as `rg`. */
  readonly searchPath: string
  /** The sandbox in which helper programs run. Undefined, also as its result: none is configured. */
  sandbox?(): Promise<Sandbox | undefined>
}

/** `resolve` makes a path absolute that a model wrote. */
export function createLocalFiles(
  { fileGuard, searchPath, sandbox }: LocalFilesOptions,
  resolve: (path: string) => string,
): EnvironmentFiles {
  const mayRead = (path: string, { attachments }: FileAccess) => fileGuard.checkRead(resolve(path), attachments)
  const mayWrite = (path: string, { isOwner }: FileAccess) => fileGuard.checkWrite(resolve(path), isOwner)
  const search = createSearch(searchPath, sandbox)

  return {
    resolve,

    check: (path, intent, access) => (intent === 'write' ? mayWrite(path, access) : mayRead(path, access)),

    async stat(path, access) {
      const allowed = await mayRead(path, access)
      if (!allowed.ok) return allowed
      const stats = await statIfExists(allowed.path)
      return {
        ok: true,
        stat: stats && {
          kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other',
          size: stats.size,
          mode: stats.mode & 0o7777,
        },
      }
    },

    async read(path, options) {
      const allowed = await mayRead(path, options)
      return allowed.ok ? await readFileBytes(allowed.path, path, options) : allowed
    },

    async writeAtomic(path, content, access) {
      const allowed = await mayWrite(path, access)
      return allowed.ok ? { ok: true, ...(await writeFileAtomic(allowed.path, content, access.newMode)) } : allowed
    },

    async remove(path, access) {
      const allowed = await mayWrite(path, access)
      if (!allowed.ok) return allowed
      const stats = await statIfExists(allowed.path)
      if (stats === undefined) return notFound(path)
      if (stats.isDirectory()) return isDirectory(path)
      await removeFile(allowed.path)
      return { ok: true }
    },

    async list(path, options) {
      const allowed = await mayRead(path, options)
      if (!allowed.ok) return allowed
      const stats = await statIfExists(allowed.path)
      if (stats === undefined) return notFound(path)
      if (!stats.isDirectory())
        return { ok: false, code: 'not_regular_file', reason: `${path} is a file, not a directory.` }
      const all = (await readdir(allowed.path, { withFileTypes: true })).map(
        (entry): DirectoryEntry => ({
          name: entry.name,
          kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'other',
        }),
      )
      all.sort((a, b) => (a.name < b.name ? -1 : 1))
      return { ok: true, entries: all.slice(0, options.limit), isComplete: all.length <= options.limit }
    },

    async search(request, access) {
      const allowed = await mayRead(request.path, access)
      if (!allowed.ok) return allowed
      const root = allowed.path
      if ((await statIfExists(root)) === undefined) return notFound(request.path)
      const { signal } = access
      const result = await search({
        ...request,
        root,
        signal,
        mayRead: await fileGuard.createReadFilter(access.attachments),
      })
      return asRequested(result, root, request)
    },
  }
}

function createSearch(searchPath: string, getSandbox: LocalFilesOptions['sandbox']) {
  let ripgrep: { readonly program: string | undefined } | undefined
  return async (request: SearchRequest): Promise<SearchResult> => {
    ripgrep ??= { program: findProgram('rg', searchPath) }
    const { program } = ripgrep
    const sandbox = await getSandbox?.()
    // A program that the sandbox hides cannot run in it.
    return program === undefined || sandbox?.accessOf(program) === 'hidden'
      ? searchWithNode(request)
      : searchWithRipgrep(program, request, sandbox)
  }
}

/** Paths begin as the model wrote them. */
function asRequested(result: SearchResult, root: string, { path }: FileSearchRequest): FileSearchResult {
  if (!result.ok) return { ok: false, code: 'invalid_pattern', reason: result.reason }
  return { ...result, hits: result.hits.map((hit) => ({ ...hit, path: join(path, relative(root, hit.path)) })) }
}

const notFound = (path: string): FileRefusal => ({ ok: false, code: 'not_found', reason: `${path} does not exist.` })

async function statIfExists(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
