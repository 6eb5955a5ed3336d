/**
 * The code of `/voice` (contract §3.8): whether the answers in a conversation are spoken. Loaded with the first one.
 */
import type { ConversationChoices } from '../choices.ts'
import type { CommandContext } from '../command.ts'

const modes: Readonly<Record<string, string>> = {
  on: 'I answer voice messages with my voice, too.',
  tts: 'I speak all my answers, and write them.',
  off: 'I write my answers and do not speak them.',
}

export async function voice(
  { sessionKey, source, args }: CommandContext,
  choices: ConversationChoices,
): Promise<string> {
  const typed = { enable: 'on', disable: 'off' }[args.trim().toLowerCase()] ?? args.trim().toLowerCase()
  const { voice: chosen = '' } = await choices.chosen(sessionKey)
  const { isDefault, listens, speaks, sendsVoices } = await choices.voices(source)
  const current = chosen in modes ? chosen : isDefault ? 'on' : 'off'
  // Without a word, it switches.
  const mode = typed === '' ? (current === 'off' ? 'on' : 'off') : typed
  const problems = [
    ...(sendsVoices ? [] : ['This platform plays no voices, so I only write here.']),
    ...(speaks === '' ? [] : [`I cannot speak: ${speaks}.`]),
    ...(listens === '' ? [] : [`I do not understand voice messages: ${listens}.`]),
  ]
  if (mode === 'status')
    return [`Voice in this conversation: **${current}**. ${modes[current]}`, ...problems].join('\n')
  const explanation = modes[mode]
  if (explanation === undefined) return 'Write `/voice`, or add `on`, `tts`, `off` or `status`.'
  await choices.change(sessionKey, 'voice', mode)
  return [`Voice: **${mode}**. ${explanation}`, ...(mode === 'off' ? [] : problems)].join('\n')
}
