/**
 * The modes of a session: who is asked before files are changed (as Hermes has them), and `/yolo`.
 */
import type { SessionModeState } from '@agentclientprotocol/sdk'
import type { ApiWorkspace, WorkspaceChange } from '../../api/shapes/workspaces.ts'
import { invalidParams } from './request-errors.ts'

const modes = [
  {
    id: 'default',
    name: 'Ask',
    description: 'Asks before files are changed, and before commands that need an approval.',
    change: { mode: 'default', edits: 'ask' },
  },
  {
    id: 'accept_edits',
    name: 'Accept edits',
    description:
      'Changes files of the project and in /tmp without asking. Asks for others, and for files that may hold secrets.',
    change: { mode: 'default', edits: 'workspace' },
  },
  {
    id: 'dont_ask',
    name: "Don't ask about edits",
    description:
      'Changes files without asking. Asks for files that may hold secrets, and before commands that need an approval.',
    change: { mode: 'default', edits: 'everywhere' },
  },
  {
    id: 'yolo',
    name: 'Yolo',
    description: 'Runs commands and changes files without asking until the session ends. Forbidden commands never run.',
    change: { mode: 'yolo' },
  },
] as const

export type AcpMode = (typeof modes)[number]['id']

/** Throws a `RequestError` for a mode that there is not. */
export function changeToMode(id: string): WorkspaceChange {
  const known = modes.find((mode) => mode.id === id)
  if (known !== undefined) return known.change
  throw invalidParams(`There is no mode ${id.slice(0, 100)}: use ${modes.map((mode) => mode.id).join(', ')}.`)
}

export function modeOf({ mode, edits }: Pick<ApiWorkspace, 'mode' | 'edits'>): AcpMode {
  if (mode === 'yolo') return 'yolo'
  return edits === 'workspace' ? 'accept_edits' : edits === 'everywhere' ? 'dont_ask' : 'default'
}

export function modeState(currentModeId: AcpMode): SessionModeState {
  return { currentModeId, availableModes: modes.map(({ id, name, description }) => ({ id, name, description })) }
}
