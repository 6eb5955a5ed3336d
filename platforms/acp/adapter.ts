/**
 * The platform of editors (`acp`): the code of the terminal, with conversations, a toolset and routes of its own.
 */
import { definePlatform } from '#sdk'
import { createAdapter } from '../console/adapter.ts'

/** An editor appends what it receives, and cannot take text back. */
export default definePlatform({ createAdapter: (context) => ({ ...createAdapter(context), appendsDrafts: true }) })
