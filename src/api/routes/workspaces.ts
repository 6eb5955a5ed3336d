/**
 * `/api/workspaces/<platform>/<chat>`: the folder in which one conversation works, in place of `terminal.cwd`, and whether its owner
 * is asked before commands run. For front ends whose user has opened a folder, such as an editor.
 */
import { defineRoute } from '../route.ts'
import { workspaceBody, workspaceResponse } from '../shapes/workspaces.ts'

const about = {
  path: '/api/workspaces/{platform}/{chat_id}',
  access: 'token',
  tag: 'Sessions',
  response: workspaceResponse,
} as const

export const showWorkspace = defineRoute({
  ...about,
  method: 'GET',
  summary: 'Shows in which folder a conversation works.',
  handle: async (services, { params }) => (await import('../handlers/workspaces.ts')).showWorkspace(services, params),
})

export const changeWorkspace = defineRoute({
  ...about,
  method: 'POST',
  summary: 'Changes in which folder a conversation works.',
  body: workspaceBody,
  handle: async (services, { params, body }) =>
    (await import('../handlers/workspaces.ts')).changeWorkspace(services, params, body),
})
