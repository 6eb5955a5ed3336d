import { platformContract } from '../../kit/contracts/platform.ts'
import { telegramUnderTest } from './under-test.ts'

platformContract('Telegram', telegramUnderTest)
