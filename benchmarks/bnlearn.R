# CPU seconds of bnlearn's chow.liu, in process and with reading: Rscript bnlearn.R FILE
suppressMessages(library(bnlearn))
file <- commandArgs(trailingOnly = TRUE)[1]
data <- read.csv(file, colClasses = "factor", na.strings = character(0), check.names = FALSE)
data <- data[, sapply(data, nlevels) > 1, drop = FALSE]
times <- numeric(0)
for (i in 1:5) {
  times <- c(times, sum(system.time(chow.liu(data))[1:2]))
  if (times[i] > 5) break
}
cat(sprintf('{"seconds": %.6f}\n', min(times)))
