import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './ui/ui.css'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'
import { startWords } from './words/words.ts'

await startWords()
createRoot(document.getElementById('root')!).render(<App />)
