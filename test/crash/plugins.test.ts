/**
 * A plugin that wraps every call kills the process itself. `plugins.full.test.ts` has the other points.
 */
import { pluginRound, testWithPlugin } from './wrapper-plugin.ts'

testWithPlugin([pluginRound('before')])
