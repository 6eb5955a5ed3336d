/**
 * Files that people have sent, as a bot may load them.
 */
import { badRequest, type JsonRecord, textOf } from './params.ts'

export interface Files {
  /** A name for `getFile`. */
  add(bytes: Uint8Array, ending: string): string
  /** The answer of `getFile`. Throws `ApiError`. */
  describe(params: JsonRecord): JsonRecord
  /** What lies at the path that was told. */
  load(path: string): Uint8Array | undefined
  /** `getFile` tells this path instead. */
  tellPath(path: string): void
}

const maxFileBytes = 20 * 1024 * 1024

export function createFiles(): Files {
  const files = new Map<string, { readonly bytes: Uint8Array; readonly path: string }>()
  let told: string | undefined

  return {
    add(bytes, ending) {
      const id = `file-${files.size + 1}`
      files.set(id, { bytes, path: `documents/file_${files.size}${ending}` })
      return id
    },
    describe(params) {
      const id = textOf(params['file_id'])
      const file = files.get(id)
      if (file === undefined) throw badRequest('wrong file_id or the file is temporarily unavailable')
      if (file.bytes.length > maxFileBytes) throw badRequest('file is too big')
      return { file_id: id, file_unique_id: `unique-${id}`, file_size: file.bytes.length, file_path: told ?? file.path }
    },
    load: (path) => [...files.values()].find((file) => file.path === path)?.bytes,
    tellPath(path) {
      told = path
    },
  }
}
