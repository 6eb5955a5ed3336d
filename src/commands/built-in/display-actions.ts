/**
 * The code of `/verbose` and `/footer`. Loaded with the first of them.
 */
import { type ToolProgressMode, toolProgressModes } from '../../message/conversation-choices.ts'
import type { ConversationChoices } from '../choices.ts'
import type { CommandContext } from '../command.ts'

const explanations: Readonly<Record<ToolProgressMode, string>> = {
  off: 'tools are not shown.',
  new: 'a line when another tool begins.',
  all: 'a line for each call of a tool.',
  verbose: 'a line for each call of a tool, with its arguments and its result.',
}

export async function verbose(
  { sessionKey, source, args }: CommandContext,
  choices: ConversationChoices,
): Promise<string> {
  const chosen = await choices.chosen(sessionKey)
  const { permitsVerbose, toolProgress, showsProgress } = choices.display(source, chosen)
  if (!showsProgress) return 'This command is for chats: pages and terminals show the tools themselves.'
  if (!permitsVerbose)
    return 'The operator has not enabled this command (`display.tool_progress_command: true` in config.yaml).'
  const typed = args.trim().toLowerCase()
  const at = toolProgressModes.indexOf(toolProgress)
  const mode =
    typed === ''
      ? (toolProgressModes[(at + 1) % toolProgressModes.length] ?? 'off')
      : toolProgressModes.find((mode) => mode === typed)
  if (mode === undefined) return `Write \`/verbose\`, or add \`${toolProgressModes.join('`, `')}\`.`
  await choices.change(sessionKey, 'tool_progress', mode)
  return `Tools in this conversation: **${mode}**, ${explanations[mode]}`
}

export async function footer(
  { sessionKey, source, args }: CommandContext,
  choices: ConversationChoices,
): Promise<string> {
  const typed = args.trim().toLowerCase()
  if (!['', 'on', 'off', 'status'].includes(typed)) return 'Write `/footer`, or add `on`, `off` or `status`.'
  const { hasFooter, showsProgress } = choices.display(source, await choices.chosen(sessionKey))
  if (!showsProgress)
    return 'Only chats show a line below my answers. `/usage` shows the tokens and the use of the context.'
  if (typed === 'status') return `The line below my answers is **${hasFooter ? 'on' : 'off'}**.`
  const isOn = typed === '' ? !hasFooter : typed === 'on'
  await choices.change(sessionKey, 'footer', isOn ? 'on' : 'off')
  return isOn
    ? '**On**: a line below my answers shows the model, the tokens, the time and the use of the context.'
    : '**Off**: my answers have no line below them.'
}
