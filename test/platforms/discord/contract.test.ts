import { platformContract } from '../../kit/contracts/platform.ts'
import { discordUnderTest } from './under-test.ts'

platformContract('Discord', discordUnderTest)
