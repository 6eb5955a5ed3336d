/**
 * Writes a whole file, in one step.
 */
import { z } from 'zod'
import { defineTool } from '../tool.ts'
import type { ToolDeps } from './deps.ts'
import { absolutePath } from './support/paths.ts'
import { toError, toResult } from './support/result.ts'
import { replaceFile } from './support/text-file.ts'

const parameters = z.object({ path: z.string().min(1), content: z.string() })

export default ({ guard, userHome }: ToolDeps) =>
  defineTool({
    name: 'write_file',
    toolset: 'file',
    description: 'Write a whole file, replacing it; folders are made. For small changes use patch.',
    parameters,
    mode: 'idempotent',
    label: ({ path }) => path,

    async run({ path, content }, { environment, limits }) {
      const allowed = await guard.forWrite(absolutePath(path, environment.cwd, userHome))
      if (!allowed.ok) return toError(allowed.reason)
      const { created } = await replaceFile(allowed.path, content)
      return toResult({ path, bytes: Buffer.byteLength(content), created }, limits.maxResultChars)
    },
  })
