/**
 * What happens in chats, and messages to them.
 */
import { z } from 'zod'
import { sendBody } from '../../flows/delivery/send-body.ts'
import { eventsPage, eventsQuery } from '../../flows/events/shapes.ts'
import { defineRoutes } from '../route.ts'
import { channelsPage, channelsQuery } from '../shapes/channels.ts'

const route = defineRoutes('Messages')

export const readEvents = route('GET', '/api/events', {
  summary: 'Tells what happened, or waits for it. With `Accept: text/event-stream` as server-sent events.',
  query: eventsQuery,
  response: eventsPage,
  events: true,
  async handle({ opened, lifecycle }, { query, request }) {
    const { answerEvents } = await import('../../flows/events/event-requests.ts')
    return await answerEvents(await opened.events(), query, request, lifecycle.stopping)
  },
})

export const listChannels = route('GET', '/api/channels', {
  summary: 'Lists the chats to which messages can be sent.',
  query: channelsQuery,
  response: channelsPage,
  handle: async (services, { query, signal }) =>
    (await import('../handlers/channels.ts')).listChannels(services, query, signal),
})

export const sendMessage = route('POST', '/api/send', {
  summary: 'Sends a message to chats.',
  body: sendBody,
  response: z.object({
    results: z.array(
      z.object({
        target: z.string(),
        status: z.enum(['sent', 'saved', 'queued', 'failed', 'skipped']),
        chat: z.string().optional(),
        messageIds: z.array(z.string()).optional(),
        path: z.string().optional(),
        error: z.string().optional(),
      }),
    ),
  }),
  async handle(services, { body, signal }) {
    const { sendRequest } = await import('../../flows/delivery/send-request.ts')
    return { results: await sendRequest(services, services.outbox, body, signal) }
  },
})

export const listCommands = route('GET', '/api/commands', {
  summary: 'Lists the slash commands for menus.',
  response: z.array(z.object({ name: z.string(), description: z.string(), argsHint: z.string() })),
  async handle({ menu }) {
    await menu.complete()
    return menu.commands().map(({ name, description, argsHint }) => ({ name, description, argsHint }))
  },
})
