/**
 * `/api/workspaces/<platform>/<chat>`: the folder in which one conversation works, in place of `terminal.cwd`, and whether its owner
 * is asked before commands run. For front ends whose user has opened a folder, such as an editor.
 */
import { defineRoutes } from '../route.ts'
import { workspaceBody, workspaceResponse } from '../shapes/workspaces.ts'

const route = defineRoutes('Sessions')

export const showWorkspace = route('GET', '/api/workspaces/{platform}/{chat_id}', {
  summary: 'Shows in which folder a conversation works.',
  response: workspaceResponse,
  handle: async (services, { params }) => (await import('../handlers/workspaces.ts')).showWorkspace(services, params),
})

export const changeWorkspace = route('POST', '/api/workspaces/{platform}/{chat_id}', {
  summary: 'Changes in which folder a conversation works.',
  response: workspaceResponse,
  body: workspaceBody,
  handle: async (services, { params, body }) =>
    (await import('../handlers/workspaces.ts')).changeWorkspace(services, params, body),
})
