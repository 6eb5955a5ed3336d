/**
 * Runs the crash scenario with a plugin that wraps every call. No effect happens twice and no message is lost. The plugin
 * also kills the process itself, within its wrapper, where there is no failpoint.
 */
import { writeFile } from 'node:fs/promises'
import type { Round } from './rounds.ts'
import { killPoints } from './scenario.ts'
import { killFile, pluginRound, testWithPlugin } from './wrapper-plugin.ts'

const points = ['agent:streaming', 'tool:started', 'tool:effect-done', 'turn:before-finish']

const rounds: readonly Round[] = [
  ...killPoints
    .filter(({ name }) => points.includes(name))
    .map((point) => ({ name: `killed at ${point.name}`, point })),
  ...['watching', 'answering'].map(pluginRound),
  {
    name: 'killed by the plugin (after) and again after the recovery',
    point: { name: 'recovery:done', hits: 1, after: 'plugin:after' },
    prepare: (home) => writeFile(killFile(home), 'after'),
  },
]

testWithPlugin(rounds)
