import { replayContract } from '../../kit/replay.ts'
import { subject } from '../../replay/telegram/subject.ts'

replayContract(subject)
