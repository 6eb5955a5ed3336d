/**
 * Replaces a part of a text file.
 */
import { z } from 'zod'
import { decodeText } from './support/files.ts'
import { replaceLongText } from './support/replace-long-text.ts'
import { countOf, toErrorJson, toResultJson } from './support/result-json.ts'
import { defineTool } from './tool.ts'

const maxFileBytes = 16 * 1024 * 1024

const parameters = z.object({
  path: z.string().min(1),
  old_string: z.string().min(1).describe('must occur once; add lines around it if it does not'),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
})

export default defineTool({
  name: 'patch',
  toolset: 'file',
  description: 'Replace old_string by new_string in a file. Spaces and indentation may differ a little.',
  parameters,
  mode: 'effect',
  label: ({ path }) => path,
  summarize: ({ replaced }) => (typeof replaced === 'number' ? countOf('change', replaced) : ''),

  async run({ path, old_string, new_string, replace_all = false }, { authority, environment, limits, signal }) {
    const { files } = environment
    const access = { isOwner: authority.role === 'owner', signal }
    const allowed = await files.check(path, 'write', access)
    if (!allowed.ok) return toErrorJson(allowed)
    const read = await files.read(path, { maxBytes: maxFileBytes, signal })
    const file = read.ok ? decodeText(read.bytes, path) : read
    if (!file.ok)
      return toErrorJson(
        file.code === 'not_found' ? { ...file, reason: `${file.reason} write_file creates new files.` } : file,
      )
    if (!file.lossless)
      return toErrorJson({ code: 'not_utf8', reason: `${path} is not valid UTF-8; changing it would damage it.` })
    const replaced = await replaceLongText(
      { text: file.text, search: old_string, replacement: new_string, all: replace_all },
      signal,
    )
    if (!replaced.ok) return toErrorJson(replaced)
    const written = await files.writeAtomic(path, replaced.text, access)
    if (!written.ok) return toErrorJson(written)
    const { count, lines, exact } = replaced
    const value = {
      path,
      replaced: count,
      lines,
      ...(!exact && { matched: 'ignoring spaces' }),
    }
    return toResultJson(value, limits.maxResultChars)
  },
})
