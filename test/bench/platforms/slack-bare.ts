/**
 * The baseline of Slack: Bolt in Socket Mode as in its documentation, with one reply per message. The first argument
 * contains the options as JSON.
 */
import { App, LogLevel } from '@slack/bolt'
import { z } from 'zod'
import { createReplies, reportReady } from '../kit/bare-bot.ts'

const options = z
  .object({ bot_token: z.string(), app_token: z.string(), api_url: z.string() })
  .parse(JSON.parse(process.argv[2] ?? ''))
const answering = createReplies()
const app = new App({
  token: options.bot_token,
  appToken: options.app_token,
  socketMode: true,
  logLevel: LogLevel.ERROR,
  clientOptions: { slackApiUrl: options.api_url },
})
app.message(async ({ message, say }) => {
  if (message.subtype !== undefined) return
  await say(await answering(message.channel, message.text ?? ''))
})
await app.start()
reportReady()
