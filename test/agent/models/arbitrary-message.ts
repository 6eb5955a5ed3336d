/** Message histories that are as invalid as a crash, a plugin or another vendor could leave them. */
import fc from 'fast-check'
import type { ChatMessage } from '../../../src/message/transcript.ts'

const anyId = fc.constantFrom('', 'a', 'b', 'c')
export const arbitraryMessage: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: fc.string() }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: fc.string(),
    toolCalls: fc.array(fc.record({ id: anyId, name: fc.string(), arguments: fc.oneof(fc.string(), fc.json()) }), {
      maxLength: 3,
    }),
  }),
  fc.record({ role: fc.constant('tool' as const), toolCallId: anyId, name: fc.string(), content: fc.string() }),
)
