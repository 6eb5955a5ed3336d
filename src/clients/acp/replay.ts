/**
 * The messages of a stored session as an editor shows them again.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { ApiMessage } from '../../api/shapes/sessions.ts'
import { stripControlCharacters } from '../../lib/visible-text.ts'
import { chunk, splitThinking } from './conversation-text.ts'
import { kindOf, locationsOfLabel, textContent, titleOf } from './tool-content.ts'

export function replayed({ id, role, text, tool_calls: calls }: ApiMessage, cwd: string): SessionUpdate[] {
  const words = stripControlCharacters(text)
  const updates: SessionUpdate[] = []
  if (role === 'user' && words !== '') updates.push(chunk('user_message_chunk', id, words))
  if (role === 'assistant') {
    const { thought, answer } = splitThinking(words)
    if (thought !== '') updates.push(chunk('agent_thought_chunk', id, thought))
    if (answer !== '') updates.push(chunk('agent_message_chunk', id, answer))
  }
  for (const { id: toolCallId, name, state, label, summary } of calls) {
    const locations = locationsOfLabel(name, label, cwd)
    updates.push({
      sessionUpdate: 'tool_call',
      toolCallId,
      title: titleOf(name, label),
      name,
      kind: kindOf(name),
      status:
        state === 'running' ? 'in_progress' : state === 'failed' || state === 'interrupted' ? 'failed' : 'completed',
      ...(locations.length === 0 ? {} : { locations }),
      ...(summary === '' ? {} : { content: [textContent(summary)] }),
    })
  }
  return updates
}
