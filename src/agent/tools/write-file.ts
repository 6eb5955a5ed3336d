/**
 * Writes a whole file atomically.
 */
import { z } from 'zod'
import { countOf, lineCount, toErrorJson, toResultJson } from './support/result-json.ts'
import { defineTool } from './tool.ts'

const parameters = z.object({ path: z.string().min(1), content: z.string() })

export default defineTool({
  name: 'write_file',
  toolset: 'file',
  description: 'Write a whole file, replacing it; creates missing directories. For small changes use patch.',
  parameters,
  mode: 'idempotent',
  label: ({ path }) => path,
  summarize: ({ created }, { content }) =>
    `${created === true ? 'created' : 'replaced'}, ${countOf('line', lineCount(content))}`,

  async run({ path, content }, { authority, environment, limits, signal }) {
    const isOwner = authority.role === 'owner'
    const written = await environment.files.writeAtomic(path, content, { isOwner, signal })
    if (!written.ok) return toErrorJson(written)
    const { created } = written
    return toResultJson({ path, bytes: Buffer.byteLength(content), created }, limits.maxResultChars)
  },
})
