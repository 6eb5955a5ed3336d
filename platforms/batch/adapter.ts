/**
 * The platform of `hermes batch` (`batch`): the code of the terminal, with conversations and routes of its own.
 */
import { definePlatform } from '#sdk'
import { createAdapter } from '../console/adapter.ts'

export default definePlatform({ createAdapter })
