/**
 * What a person allows before files are changed, in a conversation that asks for it: the change itself, found by running the tool
 * without writing.
 */
import { tmpdir } from 'node:os'
import type { EnvironmentFiles, FileAccess } from '../../environments/files.ts'
import type { ApprovalNeed, ToolContext } from '../tool.ts'
import { maxFileBytes } from './edit-result.ts'
import { type TextChange, unifiedDiff } from './unified-diff.ts'

/** Limits the diffs of all files of one question. */
const maxDiffChars = 100_000

type Reach = 'edit' | 'edit-elsewhere' | 'edit-sensitive'

/** Undefined for a call that would change nothing, or is refused: it runs, so that the model gets the reason. */
export async function editNeed(
  folder: string,
  run: (context: ToolContext) => Promise<string>,
  context: ToolContext,
): Promise<ApprovalNeed | undefined> {
  const { files } = context.environment
  const access = { isOwner: context.turn.authority.role === 'owner', signal: context.signal }
  const changes = await rehearse(run, context, access)
  if (changes.length === 0) return undefined
  const root = await realPath(files, folder, 'read', access)
  const reaches: Reach[] = []
  for (const { path } of changes) reaches.push(reachOf(await realPath(files, path, 'write', access), path, root))
  const ruleKey = (['edit-sensitive', 'edit-elsewhere'] as const).find((reach) => reaches.includes(reach)) ?? 'edit'
  const beyond = changes.filter((_, index) => reaches[index] !== 'edit').map(({ path }) => files.resolve(path))
  return {
    source: 'conversation',
    ruleKey,
    reason: reasons[ruleKey],
    place: ruleKey === 'edit' ? folder : beyond.join('\n'),
    remember: 'session',
    changes: diffsOf(changes),
  }
}

const reasons: Readonly<Record<Reach, string>> = {
  edit: '',
  'edit-elsewhere': 'It is outside of the folder of this conversation.',
  'edit-sensitive': 'It may hold secrets, or steer programs.',
}

function diffsOf(changes: readonly TextChange[]): NonNullable<ApprovalNeed['changes']> {
  let left = maxDiffChars
  return changes.map((change) => {
    const diff = unifiedDiff(change, Math.max(left, 200)).replace(/^---.*\n\+\+\+.*\n/, '')
    left -= diff.length
    return { path: change.path, kind: kindOf(change), diff }
  })
}

function kindOf({ before, after }: TextChange): 'create' | 'change' | 'delete' {
  if (after === undefined) return 'delete'
  return before === undefined ? 'create' : 'change'
}

/** What the call would change, in its order. */
async function rehearse(
  run: (context: ToolContext) => Promise<string>,
  context: ToolContext,
  access: FileAccess,
): Promise<readonly TextChange[]> {
  const { files } = context.environment
  const changes: TextChange[] = []
  const add = async (path: string, after: string | undefined) => {
    const file = await files.read(path, { ...access, maxBytes: maxFileBytes })
    const before = file.ok ? textOf(file.bytes) : file.code === 'not_found' ? undefined : ''
    if (before !== after) changes.push({ path, before, after })
    return before === undefined
  }
  const unwritten: EnvironmentFiles = {
    resolve: (path) => files.resolve(path),
    check: (...request) => files.check(...request),
    stat: (...request) => files.stat(...request),
    read: (...request) => files.read(...request),
    list: (...request) => files.list(...request),
    search: (...request) => files.search(...request),
    async writeAtomic(path, content) {
      return { ok: true, created: await add(path, typeof content === 'string' ? content : textOf(content)) }
    },
    async remove(path) {
      await add(path, undefined)
      return { ok: true }
    },
  }
  await run({ ...context, environment: { ...context.environment, files: unwritten } })
  return changes
}

function textOf(bytes: Uint8Array): string {
  return bytes.subarray(0, 8192).includes(0)
    ? `[${bytes.length} bytes that are no text]\n`
    : Buffer.from(bytes).toString()
}

/** Where its links lead, if the environment tells it. */
async function realPath(
  files: EnvironmentFiles,
  path: string,
  intent: 'read' | 'write',
  access: FileAccess,
): Promise<string> {
  const allowed = await files.check(path, intent, access)
  return (allowed.ok ? allowed.path : undefined) ?? files.resolve(path)
}

/** A file whose link leads to a harmless one is judged by both names. */
function reachOf(real: string, path: string, root: string): Reach {
  if (isSensitive(real) || isSensitive(path)) return 'edit-sensitive'
  return [root, '/tmp', tmpdir()].some((folder) => real.startsWith(`${folder.replace(/\/+$/, '')}/`))
    ? 'edit'
    : 'edit-elsewhere'
}

/** Keys, and what programs read without being asked. */
function isSensitive(path: string): boolean {
  const parts = path.toLowerCase().split('/')
  const name = parts.at(-1) ?? ''
  return (
    parts.some((part) => part === '.git' || part === '.ssh') || /^(?:\.env(?:\..+)?|\.envrc|id_[a-z0-9]+)$/.test(name)
  )
}
