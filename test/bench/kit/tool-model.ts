/**
 * A local model in a process of its own: it answers at once, and a message with the word `tool` with a call of the tool `todo`
 * before its answer. Prints its port, and ends with its standard input.
 */
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'

const call = { name: 'todo', arguments: { todos: [{ id: '1', content: 'compare', status: 'pending' }] } }

const server = await startOpenAiServer({
  record: false,
  defaultReply: ({ body, lastUserText }) =>
    lastUserText.includes('tool') && Array.isArray(body['messages']) && isOfUser(body['messages'].at(-1))
      ? { toolCalls: [call] }
      : { text: 'Here is an answer of ten short words for you' },
})
process.stdout.write(`${server.port}\n`)
process.stdin.on('end', () => void server.stop())
process.stdin.resume()

function isOfUser(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'role' in message && message.role === 'user'
}
