/**
 * What `/reasoning` and `/personality` do: choices for one conversation, which outlast `/new`.
 */
import { reasoningEfforts } from '../../message/conversation-choices.ts'
import type { ConversationChoices } from '../choices.ts'
import type { CommandContext } from '../command.ts'

const efforts: ReadonlySet<string> = new Set(reasoningEfforts)
const reasoningUsage = `Write \`/reasoning\` with one of ${[...efforts].join(', ')}, \`reset\`, \`show\` or \`hide\`.`

export async function reasoning(context: CommandContext, choices: ConversationChoices): Promise<string> {
  const { sessionKey, args } = context
  const word = args.trim().toLowerCase()
  if (word === '') return describeReasoning(context, choices)
  if (efforts.has(word)) {
    await choices.change(sessionKey, 'reasoning_effort', word)
    return `From the next message on, the model reasons with the effort **${word}** in this conversation, if it has such a setting.`
  }
  switch (word) {
    case 'reset':
      await choices.change(sessionKey, 'reasoning_effort', null)
      return 'The configured effort of reasoning applies again.'
    case 'show':
      await choices.change(sessionKey, 'show_reasoning', 'yes')
      return choices.configured().givesThinking
        ? 'From the next message on, I show what the model thought above my answer, where the model tells it.'
        : `I will show what the model thought, but the provider ${choices.configured().provider} does not tell it.`
    case 'hide':
      await choices.change(sessionKey, 'show_reasoning', 'no')
      return 'I show answers only.'
    default:
      return reasoningUsage
  }
}

async function describeReasoning(
  { sessionKey, source }: CommandContext,
  choices: ConversationChoices,
): Promise<string> {
  const settings = await choices.chosen(sessionKey)
  const { reasoning_effort: chosen } = settings
  const { showsThinking } = choices.display(source, settings)
  const { reasoningEffort } = choices.configured()
  const configured = reasoningEffort ?? 'the default of the model'
  const effort = chosen === undefined ? `${configured} (configured)` : `${chosen} (chosen here)`
  return `**Effort** ${effort}  \n**Thinking** ${showsThinking ? 'shown' : 'hidden'}\n\n${reasoningUsage}`
}

const noPersonality: ReadonlySet<string> = new Set(['none', 'default', 'reset'])

export async function personality({ sessionKey, args }: CommandContext, choices: ConversationChoices): Promise<string> {
  const { personalities, personality: configured } = choices.configured()
  const wanted = args.trim()
  const { personality: chosen } = await choices.chosen(sessionKey)
  if (wanted === '') {
    const current = `**Personality** ${chosen ?? configured} ${chosen === undefined ? '(configured)' : '(chosen here)'}`
    if (personalities.length === 0)
      return `${current}\n\nThere are no others: an owner can add them under \`personalities\` in the configuration.`
    const lines = personalities.map(
      ({ name, description }) => `- \`${name}\`${description === '' ? '' : ` — ${description}`}`,
    )
    return `${current}\n\n${lines.join('\n')}\n\n\`/personality <name>\` chooses one, \`/personality none\` the configured one.`
  }
  if (noPersonality.has(wanted.toLowerCase())) {
    await choices.change(sessionKey, 'personality', null)
    return `The configured personality applies again, ${nextTime}`
  }
  const match = personalities.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  if (match === undefined) return 'There is no such personality. `/personality` lists them.'
  await choices.change(sessionKey, 'personality', match.name)
  return `I will be **${match.name}** here, ${nextTime}`
}

/** The system prompt of a session is frozen with it. */
const nextTime = 'from the next conversation on. `/new` starts one.'
