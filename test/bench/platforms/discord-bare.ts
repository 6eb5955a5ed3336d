/**
 * The baseline of Discord: discord.js as in its guide, with one reply per message. The first argument contains the
 * options as JSON.
 */
import { Client, Events, GatewayIntentBits, Partials } from 'discord.js'
import { z } from 'zod'
import { createReplies, reportReady } from '../kit/bare-bot.ts'

const { token, api_url: api } = z
  .object({ token: z.string(), api_url: z.string() })
  .parse(JSON.parse(process.argv[2] ?? ''))
const answering = createReplies()
const client = new Client({
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent],
  partials: [Partials.Channel],
  rest: { api },
})
client.on(Events.MessageCreate, async (message) => {
  if (message.author.bot) return
  if (message.channel.isSendable()) await message.channel.send(await answering(message.channelId, message.content))
})
client.once(Events.ClientReady, reportReady)
await client.login(token)
