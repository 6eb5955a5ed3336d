/**
 * Applies a V4A patch to the files of an environment: all of its sections are checked before the first file is written.
 */
import { messageOf } from '../../../../lib/errors.ts'
import type { EnvironmentFiles, FileAccess } from '../../../environments/files.ts'
import { decodeText } from '../../../support/files.ts'
import { toErrorJson, toResultJson } from '../../../support/result-json.ts'
import type { BeforeChange, ToolContext } from '../../tool.ts'
import { diffField, maxFileBytes } from '../edit-result.ts'
import { applyHunksToLongText } from './apply-long-text.ts'
import { type PatchSection, parsePatch } from './parse.ts'

/** A stopped turn does not stop between two files; an environment that does not answer must not hold it for ever. */
const writeTimeoutMs = 60_000

/** A file that the patch changes. Undefined: it does not exist. */
interface FileChange {
  /** The path as the patch names it. */
  readonly path: string
  readonly before: Buffer | undefined
  after: string | Buffer | undefined
  /** The other half of a move: where the content was, with its permission bits. */
  readonly movedFrom?: { readonly path: string; readonly content: Buffer; readonly mode: number | undefined }
}

interface Plan {
  /** By the path in its environment, where its links lead, in the order of the patch. */
  readonly changes: Map<string, FileChange>
  loose: number
}

/** Why nothing is written, for the model. */
class PatchRefused extends Error {
  readonly code: string
  constructor({ code, reason }: { readonly code: string; readonly reason: string }) {
    super(reason)
    this.code = code
  }
}

/** The result of the tool as JSON. Rejects with the reason of the signal before the first file is written. */
export async function patchFiles(
  patch: string,
  context: ToolContext,
  beforeChange: BeforeChange | undefined,
): Promise<string> {
  const { environment, turn, signal, limits } = context
  const parsed = parsePatch(patch)
  if (!parsed.ok) return toErrorJson(parsed, { line: parsed.line })
  const plan: Plan = { changes: new Map(), loose: 0 }
  const access = { isOwner: turn.authority.role === 'owner', signal }
  try {
    for (const section of parsed.sections) await planSection(section, plan, environment.files, access)
  } catch (error) {
    if (error instanceof PatchRefused) return toErrorJson({ code: error.code, reason: error.message })
    throw error
  }
  const changes = [...plan.changes.values()].filter(({ before, after }) => !isSame(before, after))
  if (changes.length === 0) return toErrorJson({ code: 'unchanged', reason: 'The patch changes nothing.' })
  await beforeChange?.({ tool: 'patch', paths: changes.map(({ path }) => environment.files.resolve(path)) }, context)
  const failure = await writeAll(changes, environment.files, access.isOwner)
  if (failure !== undefined) return failure
  const named = (test: (change: FileChange) => boolean) => changes.filter(test).map(({ path }) => path)
  const value = {
    files_modified: named(({ before, after }) => before !== undefined && after !== undefined),
    files_created: named(({ before, after }) => before === undefined && after !== undefined),
    files_deleted: named(({ after }) => after === undefined),
    ...(plan.loose > 0 && { matched: 'ignoring spaces' }),
    ...diffField(changes.filter(isShown(changes)).map(toTextChange), limits),
  }
  return toResultJson(value, limits.maxResultChars, 'diff')
}

/** The removal half of a move is a part of the other half. */
function isShown(changes: readonly FileChange[]) {
  const moved = new Set(changes.map(({ movedFrom }) => movedFrom?.path))
  return ({ path, after }: FileChange) => after !== undefined || !moved.has(path)
}

function isSame(before: Buffer | undefined, after: string | Buffer | undefined): boolean {
  if (before === undefined || after === undefined) return before === after
  return before.equals(typeof after === 'string' ? Buffer.from(after) : after)
}

function toTextChange({ path, before, after, movedFrom }: FileChange) {
  return {
    path,
    before: toShownText(movedFrom?.content ?? before),
    after: toShownText(after),
    ...(movedFrom && { oldPath: movedFrom.path }),
  }
}

function toShownText(content: string | Buffer | undefined): string | undefined {
  if (content === undefined || typeof content === 'string') return content
  return content.subarray(0, 8192).includes(0) ? '' : content.toString('utf8')
}

/** Throws `PatchRefused`. Sections see what the ones before them change. */
async function planSection(
  section: PatchSection,
  plan: Plan,
  files: EnvironmentFiles,
  access: FileAccess,
): Promise<void> {
  const { changes } = plan
  const { path, kind } = section
  const allowed = await files.check(path, 'write', access)
  const key = (allowed.ok ? allowed.path : undefined) ?? files.resolve(path)
  const known = changes.get(key)
  // Read before a refusal: it may say that nothing is there.
  const before = known === undefined ? await readCurrent(path, files, access) : known.before
  const current = known === undefined ? before : known.after
  if (!allowed.ok) throw new PatchRefused(allowed)
  const change = { path: known?.path ?? path, before, ...(known?.movedFrom && { movedFrom: known.movedFrom }) }
  if (kind === 'add') {
    if (current !== undefined) throw alreadyExists(path, section.line, 'use "*** Update File:" to change it')
    changes.set(key, { ...change, after: section.lines.map((line) => `${line}\n`).join('') })
    return
  }
  if (current === undefined)
    throw new PatchRefused({
      code: 'not_found',
      reason: `${path} (line ${section.line} of the patch) does not exist; "*** Add File:" creates a file. Nothing was changed.`,
    })
  if (kind === 'delete') {
    changes.set(key, { ...change, after: undefined })
    return
  }
  const after = section.hunks.length === 0 ? current : await edit(section, current, plan, access.signal)
  if (section.moveTo === '') {
    changes.set(key, { ...change, after })
    return
  }
  const movable = await files.check(section.moveTo, 'write', access)
  const target = (movable.ok ? movable.path : undefined) ?? files.resolve(section.moveTo)
  const occupied = changes.has(target) ? changes.get(target)?.after : await readCurrent(section.moveTo, files, access)
  if (occupied !== undefined) throw alreadyExists(section.moveTo, section.line, 'a move does not replace a file')
  if (!movable.ok) throw new PatchRefused(movable)
  const file = await files.stat(path, access)
  const movedFrom = { path, content: before ?? Buffer.alloc(0), mode: file.ok ? file.stat?.mode : undefined }
  changes.set(key, { path: change.path, before, after: undefined })
  changes.set(target, { path: section.moveTo, before: changes.get(target)?.before, after, movedFrom })
}

function alreadyExists(path: string, line: number, hint: string): PatchRefused {
  return new PatchRefused({
    code: 'exists',
    reason: `${path} (line ${line} of the patch) exists; ${hint}. Nothing was changed.`,
  })
}

/** Undefined for a file that does not exist. */
async function readCurrent(path: string, files: EnvironmentFiles, access: FileAccess): Promise<Buffer | undefined> {
  const read = await files.read(path, { ...access, maxBytes: maxFileBytes })
  if (read.ok) return read.bytes
  if (read.code === 'not_found') return undefined
  throw new PatchRefused({ ...read, reason: `${read.reason} Nothing was changed.` })
}

async function edit(
  { path, hunks }: Extract<PatchSection, { kind: 'update' }>,
  current: string | Buffer,
  plan: Pick<Plan, 'loose'>,
  signal: AbortSignal,
): Promise<string> {
  const file =
    typeof current === 'string' ? { ok: true as const, text: current, lossless: true } : decodeText(current, path)
  if (!file.ok) throw new PatchRefused(file)
  if (!file.lossless)
    throw new PatchRefused({ code: 'not_utf8', reason: `${path} is not valid UTF-8; changing it would damage it.` })
  const applied = await applyHunksToLongText({ text: file.text, hunks, path }, signal)
  if (!applied.ok) throw new PatchRefused(applied)
  plan.loose += applied.loose
  return applied.text
}

/** Removes last, so that no content is lost between the halves of a move. Undefined if all was written; otherwise the result. */
async function writeAll(
  changes: readonly FileChange[],
  files: EnvironmentFiles,
  isOwner: boolean,
): Promise<string | undefined> {
  const inOrder = changes.toSorted((a, b) => Number(a.after === undefined) - Number(b.after === undefined))
  const access = { isOwner, signal: AbortSignal.timeout(writeTimeoutMs) }
  for (const [index, change] of inOrder.entries()) {
    const problem = await writeOne(change, files, access)
    if (problem === undefined) continue
    const [written, left] = [inOrder.slice(0, index), inOrder.slice(index)].map((some) => some.map(({ path }) => path))
    if (index === 0) return toErrorJson({ ...problem, reason: `${problem.reason} Nothing was changed.` })
    return toErrorJson(
      {
        code: 'partly_written',
        reason: `${problem.reason} Before it, ${written?.join(', ')} ${index === 1 ? 'was' : 'were'} changed; ${left?.join(', ')} ${left?.length === 1 ? 'was' : 'were'} not.`,
      },
      { written, not_written: left },
    )
  }
  return undefined
}

async function writeOne({ path, after, movedFrom }: FileChange, files: EnvironmentFiles, access: FileAccess) {
  try {
    const done =
      after === undefined
        ? await files.remove(path, access)
        : await files.writeAtomic(path, after, {
            ...access,
            ...(movedFrom?.mode !== undefined && { newMode: movedFrom.mode }),
          })
    return done.ok ? undefined : done
  } catch (error) {
    // The result has to say which files were written before it.
    return { code: 'failed', reason: `${path} could not be written: ${messageOf(error)}.` }
  }
}
