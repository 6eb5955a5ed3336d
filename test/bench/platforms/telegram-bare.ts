/**
 * The baseline of Telegram: telegraf as in its documentation, with one reply per message. The first argument contains
 * the options as JSON.
 */
import { Telegraf } from 'telegraf'
import { z } from 'zod'
import { createReplies, reportReady } from '../kit/bare-bot.ts'

const { token, api_root: apiRoot } = z
  .object({ token: z.string(), api_root: z.string() })
  .parse(JSON.parse(process.argv[2] ?? ''))
const answering = createReplies()
const bot = new Telegraf(token, { telegram: { apiRoot } })
bot.on('text', async (context) => {
  const { chat, text } = context.message
  await context.reply(await answering(String(chat.id), text))
})
bot.launch(reportReady).catch((error) => process.stderr.write(`${error}\n`))
