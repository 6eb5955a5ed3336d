/**
 * Writes a whole file atomically.
 */
import { z } from 'zod'
import type { EnvironmentFiles, FileAccess } from '../environments/files.ts'
import { countOf, diffCount, lineCount, toErrorJson, toResultJson } from '../support/result-json.ts'
import { approvalOfEdit, type EditPort } from './support/edit-port.ts'
import { type BeforeChange, defineToolCode, type ToolContext } from './tool.ts'

const parameters = z.object({ path: z.string().min(1), content: z.string() })

export const createWriteFileTool = ({ beforeChange }: EditPort) =>
  defineToolCode({
    name: 'write_file',
    description: 'Write a whole file; creates directories. For small changes use patch.',
    parameters,
    mode: 'idempotent',
    label: ({ path }) => path,
    summarize: ({ created, diff }, { content }) =>
      created === true ? `created, ${countOf('line', lineCount(content))}` : diffCount(diff) || 'replaced',
    approval: approvalOfEdit(run),
    run: (args, context) => run(args, context, beforeChange),
  })

async function run(
  { path, content }: z.output<typeof parameters>,
  context: ToolContext,
  beforeChange?: BeforeChange,
): Promise<string> {
  const { turn, environment, limits, signal } = context
  const { files } = environment
  const access = { isOwner: turn.authority.role === 'owner', signal }
  const allowed = await files.check(path, 'write', access)
  if (!allowed.ok) return toErrorJson(allowed)
  const before = await readText(path, files, access)
  await beforeChange?.({ tool: 'write_file', paths: [files.resolve(path)] }, context)
  const written = await files.writeAtomic(path, content, access)
  if (!written.ok) return toErrorJson(written)
  const { created } = written
  const difference = before === undefined ? {} : await differenceOf({ path, before, after: content }, limits)
  const value = { path, bytes: Buffer.byteLength(content), created, ...difference }
  return toResultJson(value, limits.maxResultChars, 'diff')
}

/** A larger file is replaced without showing what was in it. */
const maxComparedBytes = 2 * 1024 * 1024

/** Undefined for what is no text file, which the call replaces or is refused all the same. */
async function readText(path: string, files: EnvironmentFiles, access: FileAccess): Promise<string | undefined> {
  const read = await files.read(path, { ...access, maxBytes: maxComparedBytes })
  if (!read.ok || read.bytes.subarray(0, 8192).includes(0)) return undefined
  return read.bytes.toString('utf8')
}

/** What the page shows of a file that was there before. */
async function differenceOf(
  change: { readonly path: string; readonly before: string; readonly after: string },
  limits: { readonly maxResultChars: number },
) {
  const { diffField } = await import('./support/edit-result.ts')
  return diffField([change], limits)
}
