/**
 * Changes files: replaces a part of one, or applies a patch of several in the V4A format.
 */
import { z } from 'zod'
import { asArray, type JsonObject } from '../../lib/json.ts'
import { countOf, diffCount, toErrorJson, toResultJson } from '../support/result-json.ts'
import { approvalOfEdit, type EditPort } from './support/edit-port.ts'
import { type BeforeChange, defineToolCode, type ToolContext } from './tool.ts'

/** The arguments of Hermes Agent; `mode` may be left out. */
const parameters = z.object({
  mode: z.enum(['replace', 'patch']).optional(),
  path: z.string().min(1).optional(),
  old_string: z.string().min(1).optional(),
  new_string: z.string().optional(),
  replace_all: z.boolean().optional(),
  patch: z.string().min(1).optional(),
})

const text = { type: 'string' } as const

/** Shorter than a derived one, because it is a part of every request. */
const jsonSchema = {
  type: 'object',
  properties: {
    path: text,
    old_string: { type: 'string', description: 'must occur once' },
    new_string: text,
    replace_all: { type: 'boolean' },
    patch: { type: 'string', description: 'V4A' },
  },
}

export const createPatchTool = ({ beforeChange }: EditPort) =>
  defineToolCode({
    name: 'patch',
    description: 'Replace old_string in a file, or apply a patch to several. Spaces may differ a little.',
    parameters,
    jsonSchema,
    acceptsUndescribed: true,
    mode: 'effect',
    label: ({ path, patch = '' }) => path ?? pathsOf(patch),
    summarize: ({ replaced, diff, ...files }) => {
      const changed = typeof replaced === 'number' ? countOf('change', replaced) : countOf('file', changedFiles(files))
      return [changed, diffCount(diff)].filter(Boolean).join(', ')
    },
    approval: approvalOfEdit(run),
    run: (args, context) => run(args, context, beforeChange),
  })

async function run(
  { mode, path, old_string, new_string, replace_all = false, patch }: z.output<typeof parameters>,
  context: ToolContext,
  beforeChange?: BeforeChange,
): Promise<string> {
  if (mode === 'patch' || (mode === undefined && old_string === undefined && patch !== undefined)) {
    if (patch === undefined) return missing('patch')
    const { patchFiles } = await import('./support/v4a/patch-files.ts')
    return await patchFiles(patch, context, beforeChange)
  }
  if (path === undefined) return missing('path')
  if (old_string === undefined) return missing('old_string')
  if (new_string === undefined) return missing('new_string')
  return await replaceIn(path, { search: old_string, replacement: new_string, all: replace_all }, context, beforeChange)
}

function missing(name: string): string {
  return toErrorJson({
    code: 'invalid_arguments',
    reason: `${name} is missing. patch takes path, old_string and new_string; or patch, a text that starts with "*** Begin Patch".`,
  })
}

function changedFiles({ files_modified, files_created, files_deleted }: JsonObject): number {
  return [files_modified, files_created, files_deleted].reduce<number>((sum, some) => sum + asArray(some).length, 0)
}

/** For people. */
function pathsOf(patch: string): string {
  const names = patch.matchAll(/^\*\*\* (?:Update|Add|Delete|Move) File: *(.+)$/gm)
  return [...names].map(([, name = '']) => name.trim()).join(', ')
}

async function replaceIn(
  path: string,
  request: { readonly search: string; readonly replacement: string; readonly all: boolean },
  context: ToolContext,
  beforeChange: BeforeChange | undefined,
): Promise<string> {
  const { turn, environment, limits, signal } = context
  const [{ decodeText }, { replaceLongText }, { diffField, maxFileBytes }] = await Promise.all([
    import('../support/files.ts'),
    import('../support/replace-long-text.ts'),
    import('./support/edit-result.ts'),
  ])
  const { files } = environment
  const access = { isOwner: turn.authority.role === 'owner', signal }
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
  const replaced = await replaceLongText({ text: file.text, ...request }, signal)
  if (!replaced.ok) return toErrorJson(replaced)
  await beforeChange?.({ tool: 'patch', paths: [files.resolve(path)] }, context)
  const written = await files.writeAtomic(path, replaced.text, access)
  if (!written.ok) return toErrorJson(written)
  const { count, lines, exact } = replaced
  const value = {
    path,
    replaced: count,
    lines,
    ...(!exact && { matched: 'ignoring spaces' }),
    ...diffField([{ path, before: file.text, after: replaced.text }], limits),
  }
  return toResultJson(value, limits.maxResultChars, 'diff')
}
