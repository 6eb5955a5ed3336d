/**
 * One pair of kills while scheduled jobs run. `cron.full.test.ts` has all others.
 */
import { testAnswers } from './cron-pairs.ts'

testAnswers(['cron:accepted', 'cron:delivered'])
