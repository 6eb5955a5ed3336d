/**
 * Writes a whole file atomically.
 */
import { z } from 'zod'
import type { BuiltInToolDeps } from './deps.ts'
import { absolutePath, writeFileAtomic } from './support/files.ts'
import { toErrorJson, toResultJson } from './support/result-json.ts'
import { defineTool } from './tool.ts'

const parameters = z.object({ path: z.string().min(1), content: z.string() })

export default ({ fileGuard, userHome }: BuiltInToolDeps) =>
  defineTool({
    name: 'write_file',
    toolset: 'file',
    description: 'Write a whole file, replacing it; creates missing directories. For small changes use patch.',
    parameters,
    mode: 'idempotent',
    label: ({ path }) => path,

    async run({ path, content }, { authority, environment, limits }) {
      const allowed = await fileGuard.checkWrite(
        absolutePath(path, environment.cwd, userHome),
        authority.role === 'owner',
      )
      if (!allowed.ok) return toErrorJson(allowed)
      const { created } = await writeFileAtomic(allowed.path, content)
      return toResultJson({ path, bytes: Buffer.byteLength(content), created }, limits.maxResultChars)
    },
  })
