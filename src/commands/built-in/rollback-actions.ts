/**
 * What `/rollback` replies: the checkpoints of the conversation, what has changed since one, and what was restored.
 */
import { formatDuration } from '../../lib/duration.ts'
import { toShortLine } from '../../lib/redact.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import type { CheckpointServices } from '../checkpoint.ts'
import type { CommandContext } from '../command.ts'

const maxListed = 20
const maxNames = 20
const maxDiffChars = 3_000
const usage =
  '`/rollback <number>` restores the files, `/rollback <number> <file>` one of them, `/rollback diff <number>` shows what has changed.'

export async function rollback(context: CommandContext, checkpoints: CheckpointServices): Promise<string> {
  const problem = checkpoints.unavailable(context.authority)
  if (problem !== '') return problem
  const words = context.args.split(/\s+/).filter((word) => word !== '' && word !== '--all')
  const isDiff = words.includes('diff')
  const [number, ...rest] = words.filter((word) => word !== 'diff')
  if (number === undefined) return await list(context, checkpoints)
  if (!/^[1-9]\d{0,5}$/.test(number)) return `I know no checkpoint ${code(number)}. ${usage}`
  const file = rest.length === 0 ? undefined : rest.join(' ')
  if (isDiff) return toDiff(checkpoints.redact(await checkpoints.diff(context, Number(number), file)))
  const { folder, changed, removed, left } = await checkpoints.restore(context, Number(number), file)
  const notKept =
    left.length > 0
      ? [
          `- left as they are, because checkpoints do not keep them (ignored, generated, secret or too large): ${names(left)}`,
        ]
      : []
  if (changed.length + removed.length === 0) {
    const nothing = `Nothing to restore: the files in ${code(folder)} are as they were.`
    return [nothing, ...notKept].join('\n')
  }
  return [
    `Restored in ${code(folder)}:`,
    ...(changed.length > 0 ? [`- as they were: ${names(changed)}`] : []),
    ...(removed.length > 0 ? [`- removed, because they were made later: ${names(removed)}`] : []),
    ...notKept,
    '',
    '`/rollback 1` undoes this. The agent does not know of it; `/undo` takes back what it said last.',
  ].join('\n')
}

async function list(context: CommandContext, checkpoints: CheckpointServices): Promise<string> {
  const list = await checkpoints.list(context)
  if (list.length === 0)
    return checkpoints.isEnabled()
      ? 'There is no checkpoint of this conversation yet. One is taken before I change files.'
      : 'No checkpoints are taken. The owner of the gateway can set `checkpoints.enabled: true`, or start `hermes chat --checkpoints`.'
  const lines = list.slice(0, maxListed).map(({ at, reason, folder }, index) => {
    const age = formatDuration(Math.max(0, Date.now() - at))
    return `${index + 1}. ${age} ago, before ${code(toShortLine(reason, 80, checkpoints.withhold))} in ${code(folder)}`
  })
  return `**Checkpoints of this conversation**\n\n${lines.join('\n')}\n\n${usage}`
}

function toDiff(diff: string): string {
  if (diff === '') return 'Nothing has changed since.'
  const shown =
    diff.length > maxDiffChars
      ? `${diff.slice(0, maxDiffChars)}\n[${diff.length - maxDiffChars} more characters]`
      : diff
  return `\`\`\`diff\n${shown.replaceAll('```', "'''").trimEnd()}\n\`\`\``
}

function names(paths: readonly string[]): string {
  const more = paths.length > maxNames ? ` and ${paths.length - maxNames} more` : ''
  return `${paths.slice(0, maxNames).map(code).join(', ')}${more}`
}

function code(text: string): string {
  return `\`${toLabel(text.replace(/`+/g, ' '), 200)}\``
}
