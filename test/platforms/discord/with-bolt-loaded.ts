/**
 * A process in which Slack's package is loaded before Discord's: uploads a file to the server that is named as JSON in the
 * first argument, and prints the result.
 */
import '@slack/bolt'
import process from 'node:process'
import { z } from 'zod'
import { createRecordingContext } from '../../kit/recording-context.ts'
import { messageTo, neverAborted } from './support.ts'

const { token, api_url, chatId } = z
  .object({ token: z.string(), api_url: z.string(), chatId: z.string() })
  .parse(JSON.parse(process.argv[2] ?? ''))
const { createAdapter } = await import('../../../platforms/discord/adapter.ts')
const { context } = createRecordingContext({ platform: 'discord', options: { token, api_url } })
const adapter = createAdapter(context)
const source = { kind: 'file' as const, bytes: 5, open: async () => new Blob(['hello']) }
const attachment = { kind: 'document' as const, fileName: 'hello.txt', mimeType: 'text/plain', source }
const target = { platform: 'discord', account: 'default', chatId }
process.stdout.write(JSON.stringify(await adapter.send(messageTo(target, 'A file', { attachment }), neverAborted)))
await adapter.disconnect()
