/**
 * What `/background`, `/agents` and `/stop <task>` do.
 */
import { formatDuration } from '../../lib/duration.ts'
import { toShortLine } from '../../lib/redact.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import type { CommandContext } from '../command.ts'
import type { RequestedTask, TaskServices } from '../tasks.ts'

const previewChars = 80

export async function background(context: CommandContext, tasks: TaskServices): Promise<string> {
  const prompt = context.args.trim()
  if (prompt === '') return 'Write what I should do: `/background check the backups and report`.'
  const result = await tasks.start(context, prompt)
  if (result.status === 'too-many')
    return `You have ${result.limit} tasks in the background, the maximum. \`/agents\` lists them, and \`/stop <task>\` ends one.`
  return `🔄 Background task started: ${preview(tasks, prompt)}\nTask ID: \`${result.id}\`\nThe result comes to this chat. The task knows nothing of our conversation, and cannot ask you.`
}

export async function agents(context: CommandContext, tasks: TaskServices): Promise<string> {
  const open = tasks.list(context)
  if (open.length === 0) return 'No task and no sub-agent works now. `/background <prompt>` starts a task.'
  const lines = open.map(
    (task) =>
      `- \`${task.id}\` · ${toMarkdownLabel(task.by)} · ${formatDuration(task.ageMs)}${progressOf(task)} · ${preview(tasks, task.prompt)}`,
  )
  return `**Tasks and sub-agents**\n\n${lines.join('\n')}\n\n\`/stop <task>\` ends one.`
}

function progressOf({ subagent }: RequestedTask): string {
  if (subagent === undefined) return ''
  const { depth, tokens, tool } = subagent
  const current = tool === undefined ? '' : ` · ${toMarkdownLabel(tool)}`
  return ` · depth ${depth} · ${tokens.toLocaleString('en-US')} tokens${current}`
}

export async function stopTask(context: CommandContext, tasks: TaskServices): Promise<string> {
  const id = context.args.trim()
  if (await tasks.stop(context, id)) return `⏹ Stopped the task \`${id}\`.`
  return 'I know no such task of yours. `/agents` lists them; `/stop` alone ends what I do in this chat.'
}

/** One line; a prompt is the text of a person. */
function preview({ withhold }: TaskServices, prompt: string): string {
  return toMarkdownLabel(toShortLine(prompt, previewChars, withhold), previewChars * 2)
}
