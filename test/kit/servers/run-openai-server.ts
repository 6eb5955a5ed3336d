/**
 * Runs the OpenAI-compatible server in a process of its own, for crash tests and benches: its CPU and its memory are
 * then not the gateway's, and it survives the gateway.
 *
 *     node run-openai-server.ts '{"replies": [{"text": "first"}], "defaultReply": {"text": "later"}, "record": true}'
 *
 * Prints its port as the first line of stdout. `GET /_requests` tells what came in. Ends with its standard input.
 */

import { type ModelReply, parseObject } from './model-script.ts'
import { startOpenAiServer } from './openai-server.ts'

const script = parseObject(process.argv[2] ?? '{}')
const replies: ModelReply[] = Array.isArray(script['replies']) ? script['replies'].map(parseObject) : []
const later: ModelReply | undefined =
  script['defaultReply'] === undefined ? undefined : parseObject(script['defaultReply'])

const server = await startOpenAiServer({
  replies,
  record: script['record'] !== false,
  ...(later === undefined ? {} : { defaultReply: () => later }),
})
process.stdout.write(`${server.port}\n`)
process.stdin.on('end', () => void server.stop())
process.stdin.resume()
